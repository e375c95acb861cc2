#include "server/rpc/outline.hpp"

namespace berth::rpc {

void Outline::feed(std::string_view piece)
{
    for (const char byte : piece) {
        take(byte);
    }
}

void Outline::take(char byte)
{
    // Quotes and brackets are ASCII, and no byte of a longer UTF-8 sequence is.
    if (in_string_) {
        in_string_ = escaped_ || byte != '"';
        escaped_ = !escaped_ && byte == '\\';
    } else if (byte == '"') {
        in_string_ = true;
    } else if (byte == '{' || byte == '[') {
        if (++depth_ == 2) {
            keep(byte);
        }
    } else if ((byte == '}' || byte == ']') && depth_ > 0) {
        if (depth_-- == 2) {
            keep(byte);
            return;
        }
    }
    if (depth_ < 2) {
        keep(byte);
    }
}

void Outline::keep(char byte)
{
    if (text_.size() == limit) {
        too_long_ = true;
        text_.clear();
    }
    if (!too_long_) {
        text_ += byte;
    }
}

} // namespace berth::rpc

#include "sandbox/e2b/envelope.hpp"

#include <cstdint>

namespace berth::e2b {
namespace {

constexpr std::size_t header_size = 5;
constexpr std::uint8_t flag_last = 0x02;

std::uint32_t length_in(std::string_view header)
{
    std::uint32_t length = 0;
    for (const char c : header.substr(1, 4)) {
        length = (length << 8U) | static_cast<unsigned char>(c);
    }
    return length;
}

} // namespace

void put_envelope(std::string& out, std::string_view payload)
{
    out += '\0';
    for (unsigned shift = 32; shift > 0; shift -= 8) {
        out += static_cast<char>((payload.size() >> (shift - 8)) & 0xffU);
    }
    out += payload;
}

void EnvelopeReader::feed(std::string_view bytes)
{
    // Moved to the front only here, once for all envelopes of a piece.
    buffer_.erase(0, consumed_);
    consumed_ = 0;
    buffer_ += bytes;
}

std::optional<Envelope> EnvelopeReader::next()
{
    const auto rest = std::string_view(buffer_).substr(consumed_);
    if (rest.empty()) {
        return std::nullopt;
    }
    if (ended_) {
        throw EnvelopeError("something follows the end of the stream");
    }
    const auto flags = static_cast<std::uint8_t>(rest.front());
    if (flags != 0 && flags != flag_last) {
        throw EnvelopeError("the flags " + std::to_string(flags) +
                            " of a message were not asked for");
    }
    if (rest.size() < header_size) {
        return std::nullopt;
    }
    const std::size_t length = length_in(rest);
    if (length > limit_) {
        throw EnvelopeError("a message of " + std::to_string(length) +
                            " bytes is above the limit of " + std::to_string(limit_));
    }
    if (rest.size() - header_size < length) {
        return std::nullopt;
    }
    consumed_ += header_size + length;
    ended_ = flags == flag_last;
    return Envelope{.last = ended_, .payload = std::string(rest.substr(header_size, length))};
}

} // namespace berth::e2b

#include "sandbox/guest/microvm/answer_watch.hpp"

#include <algorithm>

namespace berth::guest {

std::size_t AnswerWatch::pass(std::string_view bytes)
{
    const std::size_t all = bytes.size();
    while (!bytes.empty() && !complete()) {
        if (left_ > 0) {
            const auto size = std::min(left_, bytes.size());
            left_ -= size;
            bytes.remove_prefix(size);
            continue;
        }
        const auto size = std::min(protocol::frame_header_size - header_.size(), bytes.size());
        header_ += bytes.substr(0, size);
        bytes.remove_prefix(size);
        if (header_.size() == protocol::frame_header_size) {
            take_header();
        }
    }
    return all - bytes.size();
}

/// Whether it is a frame at all the host sees, which believes less.
void AnswerWatch::take_header()
{
    const auto header = protocol::read_header(header_);
    left_ = header.size;
    last_ = header.type == protocol::FrameType::reply || header.type == protocol::FrameType::error;
    header_.clear();
}

} // namespace berth::guest

#include "sandbox/guest/output_queue.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

namespace berth::guest {
namespace {

/// Below it a copy costs less than a piece of its own.
constexpr std::size_t copy_limit = 16UL * 1024;

} // namespace

void OutputQueue::push(protocol::FrameType type, std::string payload, std::uint8_t flags)
{
    std::string chunk;
    if (payload.size() <= copy_limit) {
        chunk.reserve(protocol::frame_header_size + payload.size());
        protocol::put_frame(chunk, type, payload, 0, flags);
        bytes_ += chunk.size();
        chunks_.push_back(std::move(chunk));
        return;
    }
    protocol::put_header(chunk, type, payload.size(), 0, flags);
    bytes_ += chunk.size() + payload.size();
    chunks_.push_back(std::move(chunk));
    chunks_.push_back(std::move(payload));
}

OutputQueue::Result OutputQueue::flush(int socket)
{
    while (!chunks_.empty()) {
        std::array<iovec, 16> pieces{};
        std::size_t count = 0;
        for (auto chunk = chunks_.begin(); chunk != chunks_.end() && count < pieces.size();
             ++chunk) {
            const std::size_t skip = count == 0 ? offset_ : 0;
            pieces.at(count++) = {chunk->data() + skip, chunk->size() - skip};
        }
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = count;
        const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            drop_front(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN) {
            return Result::blocked;
        } else if (errno != EINTR) {
            return Result::broken;
        }
    }
    return Result::empty;
}

void OutputQueue::drop_front(std::size_t sent)
{
    bytes_ -= sent;
    while (sent > 0) {
        const std::size_t step = std::min(sent, chunks_.front().size() - offset_);
        offset_ += step;
        sent -= step;
        if (offset_ == chunks_.front().size()) {
            chunks_.pop_front();
            offset_ = 0;
        }
    }
}

} // namespace berth::guest

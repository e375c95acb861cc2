#include "sandbox/e2b/pipe.hpp"

#include <algorithm>
#include <cstring>

namespace berth::e2b {

Pipe::Outcome Pipe::write(std::string_view bytes, const Deadline& deadline,
                          const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    while (!bytes.empty()) {
        const bool ready = wait_until(changed_, lock, deadline, stop, [&] {
            return closed_ || ended_ || bytes_.size() - taken_ < capacity_;
        });
        if (closed_ || ended_) {
            return Outcome::closed;
        }
        if (!ready) {
            return Outcome::expired;
        }
        if (taken_ > capacity_ / 2) { // seldom: what is left is moved
            bytes_.erase(0, taken_);
            taken_ = 0;
        }
        const auto piece = bytes.substr(0, capacity_ - (bytes_.size() - taken_));
        bytes_ += piece;
        bytes.remove_prefix(piece.size());
        changed_.notify_all();
    }
    return closed_ ? Outcome::closed : Outcome::done;
}

Pipe::Outcome Pipe::read(char* data, std::size_t size, std::size_t& got, const Deadline& deadline,
                         const std::stop_token& stop)
{
    got = 0;
    std::unique_lock lock(mutex_);
    const bool ready = wait_until(changed_, lock, deadline, stop,
                                  [&] { return closed_ || ended_ || taken_ < bytes_.size(); });
    if (closed_) {
        return Outcome::closed;
    }
    if (!ready) {
        return Outcome::expired;
    }
    got = std::min(size, bytes_.size() - taken_);
    if (got > 0) {
        std::memcpy(data, bytes_.data() + taken_, got);
        taken_ += got;
        changed_.notify_all();
    }
    return Outcome::done;
}

void Pipe::end() noexcept
{
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
}

void Pipe::close() noexcept
{
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    bytes_ = {};
    taken_ = 0;
    changed_.notify_all();
}

} // namespace berth::e2b

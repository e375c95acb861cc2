#include "sandbox/guest/data_queue.hpp"

#include <utility>

namespace berth::guest {

std::size_t DataQueue::push(std::string piece)
{
    const std::lock_guard lock(mutex_);
    if (!piece.empty()) {
        bytes_ += piece.size();
        pieces_.push_back(std::move(piece));
        changed_.notify_all();
    }
    return bytes_;
}

bool DataQueue::push_waiting(std::string piece, const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return bytes_ < high_water; }) ||
        stop.stop_requested()) {
        return false;
    }
    bytes_ += piece.size();
    pieces_.push_back(std::move(piece));
    return true;
}

std::optional<std::string> DataQueue::pop()
{
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) {
        return std::nullopt;
    }
    return take();
}

std::optional<std::string> DataQueue::pop_waiting(const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return closed_ || !pieces_.empty(); }) ||
        stop.stop_requested()) {
        return std::nullopt;
    }
    if (pieces_.empty()) {
        return std::string();
    }
    return take();
}

void DataQueue::close()
{
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

std::size_t DataQueue::bytes() const
{
    const std::lock_guard lock(mutex_);
    return bytes_;
}

std::string DataQueue::take()
{
    std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    bytes_ -= piece.size();
    changed_.notify_all();
    return piece;
}

} // namespace berth::guest

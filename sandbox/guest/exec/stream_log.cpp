#include "sandbox/guest/exec/stream_log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace berth::guest {
namespace {

/// Files of a stream that is rotated.
constexpr std::uint64_t chain = 4;
/// A disk that is full may have room again.
constexpr std::chrono::seconds between_tries{1};
constexpr std::uint64_t smallest_part = 4096;
/// Of files that a full disk or a command has kept small.
constexpr std::size_t most_segments = 64;

} // namespace

StreamLog::StreamLog(SpillStore& store, std::string name) : store_(store), name_(std::move(name)) {}

void StreamLog::start()
{
    if (segments_.empty()) {
        segments_.push_back({0, store_.create(name_)});
    }
}

void StreamLog::rotate() noexcept
{
    if (!rotates_) {
        named_ = segments_.size();
        rotates_ = true;
    }
}

void StreamLog::write(std::uint64_t offset, std::string_view data)
{
    if (segments_.empty()) {
        return;
    }
    if (!rotates_) {
        file().write(data);
        return;
    }
    // In parts: with one that is larger than a file's part the file would end at the limit.
    const std::uint64_t limit = store_.stream_limit();
    const std::uint64_t part = limit == 0 ? data.size() : std::max(limit / chain, smallest_part);
    while (!data.empty()) {
        const std::string_view piece = data.substr(0, part);
        write_segment(offset, piece);
        offset += piece.size();
        data.remove_prefix(piece.size());
    }
}

void StreamLog::write_segment(std::uint64_t offset, std::string_view data)
{
    make_segment(offset);
    file().write(data);
}

void StreamLog::make_segment(std::uint64_t offset)
{
    // What is written behind a change by a command could be found no more.
    file().check();
    const std::uint64_t limit = store_.stream_limit();
    const bool full = limit != 0 && file().bytes() >= limit / chain;
    if (file().is_open() && !full) {
        return;
    }
    const auto now = BootClock::now();
    if (!full && now - tried_ < between_tries) {
        return;
    }
    tried_ = now;
    auto next = store_.create(name_);
    if (!next->is_open()) {
        return; // the newest one goes on if it can, beyond its part
    }
    file().close();
    if (file().bytes() == 0 && segments_.size() > named_) {
        drop(segments_.size() - 1); // the disk is full: one file for each try would be left
    }
    segments_.push_back({offset, std::move(next)});
    drop_oldest();
}

void StreamLog::drop_oldest()
{
    const std::uint64_t limit = store_.stream_limit();
    std::uint64_t total = 0;
    for (std::size_t i = named_; i < segments_.size(); ++i) {
        total += segments_[i].file->bytes();
    }
    // The one that is written may grow by its part.
    while (segments_.size() > named_ + 1 &&
           (segments_.size() > most_segments || (limit != 0 && total > limit - limit / chain))) {
        total -= segments_[named_].file->bytes();
        drop(named_);
    }
}

void StreamLog::drop(std::size_t segment)
{
    store_.remove(*segments_[segment].file);
    segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(segment));
}

std::string StreamLog::read(std::uint64_t& offset, std::uint64_t end, std::size_t size) const
{
    for (const auto& segment : segments_) {
        const std::uint64_t stop = std::min(end, segment.begin + segment.file->bytes());
        const std::uint64_t from = std::max(offset, segment.begin);
        if (from >= stop) {
            continue;
        }
        std::string piece =
            segment.file->read(from - segment.begin, std::min<std::uint64_t>(size, stop - from));
        if (!piece.empty()) {
            offset = from;
            return piece;
        }
    }
    return {};
}

void StreamLog::close() noexcept
{
    if (!segments_.empty()) {
        file().close();
    }
}

} // namespace berth::guest

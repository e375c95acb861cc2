#include "server/transport/line_reader.hpp"

#include <cstring>
#include <utility>

namespace berth::transport {
namespace {

/// A buffer that one huge message needed is given back after it.
constexpr std::size_t kept_capacity = 1U << 20U;

} // namespace

LineReader::LineReader(std::size_t limit, Events events) : limit_(limit), events_(std::move(events))
{
}

char* LineReader::prepare(std::size_t size)
{
    if (buffer_.size() < end_ + size) {
        buffer_.resize(end_ + size);
    }
    return buffer_.data() + end_;
}

void LineReader::commit(std::size_t count)
{
    end_ += count;
    scan();
}

void LineReader::scan()
{
    std::size_t start = 0;
    while (const void* found = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_)) {
        const auto newline =
            static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
        const std::string_view line(buffer_.data() + start, newline - start);
        if (std::exchange(skipping_, false) || line.size() > limit_) {
            events_.skipped(line);
            events_.too_long();
        } else {
            emit(line);
        }
        start = scanned_ = newline + 1;
    }
    if (skipping_ || end_ - start > limit_) {
        skipping_ = true;
        events_.skipped(std::string_view(buffer_).substr(start, end_ - start));
        start = end_;
    }
    if (start > 0) {
        std::memmove(buffer_.data(), buffer_.data() + start, end_ - start);
        end_ -= start;
    }
    scanned_ = end_;
    if (end_ == 0 && buffer_.size() > kept_capacity) {
        std::string().swap(buffer_);
    }
}

void LineReader::emit(std::string_view line) const
{
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
        events_.line(line);
    }
}

void LineReader::finish()
{
    if (std::exchange(skipping_, false)) {
        events_.too_long();
    } else {
        emit(std::string_view(buffer_).substr(0, end_));
    }
    end_ = scanned_ = 0;
}

} // namespace berth::transport

#include "sandbox/guest/search/block_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace berth::guest::search {

namespace {

/// ripgrep's size: a file whose first NUL byte is further back has been searched up to there.
constexpr std::size_t initial_size = 64U << 10;

} // namespace

BlockReader::BlockReader(SearchLimits& limits) : limits_(limits), buffer_(initial_size) {}

void BlockReader::open(int fd, bool whole) noexcept
{
    fd_ = fd;
    whole_ = whole;
    begin_ = 0;
    end_ = 0;
    at_end_ = false;
    started_ = false;
    continues_line_ = false;
    ended_in_line_ = false;
    if (buffer_.size() > initial_size) {
        // Memory that one large file needed is given back, and how far a file is read before its
        // first NUL byte is seen must not depend on the files before it.
        buffer_.resize(initial_size);
        buffer_.shrink_to_fit();
    }
}

bool BlockReader::grow()
{
    const std::size_t limit = whole_ ? max_whole : max_line;
    if (buffer_.size() >= limit) {
        return false;
    }
    buffer_.resize(std::min(buffer_.size() * 2, limit));
    return true;
}

BlockReader::Status BlockReader::fill(bool first)
{
    const std::size_t old_end = end_;
    while (end_ < buffer_.size() && !at_end_) {
        const ssize_t got = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return Status::failed;
        }
        at_end_ = got == 0;
        end_ += static_cast<std::size_t>(got);
    }
    const std::string_view fresh(buffer_.data() + old_end, end_ - old_end);
    if (first && (fresh.starts_with("\xFF\xFE") || fresh.starts_with("\xFE\xFF"))) {
        return Status::binary;
    }
    if (!fresh.empty() && std::memchr(fresh.data(), 0, fresh.size()) != nullptr) {
        return Status::binary;
    }
    if (first && fresh.starts_with("\xEF\xBB\xBF")) {
        begin_ += 3;
    }
    return Status::block;
}

void BlockReader::take(std::size_t end) noexcept
{
    continues_line_ = ended_in_line_;
    block_ = std::string_view(buffer_.data() + begin_, end - begin_);
    ended_in_line_ = !block_.ends_with('\n');
    begin_ = end;
}

BlockReader::Status BlockReader::next()
{
    if (limits_.must_stop()) {
        return Status::stopped;
    }
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    for (;;) {
        const std::size_t searched = end_;
        if (const Status status = fill(!started_); status != Status::block) {
            return status;
        }
        started_ = true;
        if (at_end_) {
            if (begin_ == end_) {
                return Status::end;
            }
            take(end_);
            return Status::block;
        }
        const std::string_view fresh(buffer_.data() + searched, end_ - searched);
        const std::size_t newline = whole_ ? std::string_view::npos : fresh.rfind('\n');
        if (newline != std::string_view::npos) {
            take(searched + newline + 1);
            return Status::block;
        }
        if (!grow()) {
            if (whole_) {
                return Status::large;
            }
            take(end_);
            return Status::block;
        }
    }
}

} // namespace berth::guest::search

#include "sandbox/guest/search/block_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest::search {

namespace {

/// ripgrep's size: a file whose first NUL byte is further back has been searched up to there.
constexpr std::size_t initial_size = 64U << 10;

ssize_t read_on(int fd, char* to, std::size_t size) noexcept
{
    for (;;) {
        const ssize_t got = ::read(fd, to, size);
        if (got >= 0 || errno != EINTR) {
            return got;
        }
    }
}

} // namespace

BlockReader::BlockReader(SearchLimits& limits)
    : limits_(limits), meter_(limits), buffer_(initial_size)
{
}

void BlockReader::open(int fd, bool whole, std::size_t limit)
{
    close();
    lock_ = ContentLock(fd, ContentLock::Kind::shared, limits_.stop());
    fd_ = fd;
    whole_ = whole;
    limit_ = limit;
    begin_ = 0;
    end_ = 0;
    at_end_ = false;
    is_utf16_ = false;
    raw_at_end_ = false;
    started_ = false;
    continues_line_ = false;
    ended_in_line_ = false;
    meter_.begin_block();
}

void BlockReader::close() noexcept
{
    if (buffer_.size() > initial_size) {
        // How far a file is read before its first NUL byte is seen must not depend on the files
        // before it, so this is not for the memory alone.
        buffer_.resize(initial_size);
        buffer_.shrink_to_fit();
    }
    permit_.release();
    lock_ = ContentLock();
}

/// A file that is read as a whole needs its size; anything else grows by and by.
std::size_t BlockReader::next_size() const noexcept
{
    constexpr std::size_t to_see_the_end = 64;
    std::size_t size = buffer_.size() * 2;
    struct stat status{};
    if (whole_ && ::fstat(fd_, &status) == 0 && status.st_size > 0) {
        size = std::max(size, static_cast<std::size_t>(status.st_size) + to_see_the_end);
    }
    return std::min(size, limit_);
}

BlockReader::Status BlockReader::grow()
{
    if (buffer_.size() >= limit_) {
        return Status::large;
    }
    if (!permit_.held() && !permit_.acquire(limit_, limits_)) {
        return Status::stopped;
    }
    buffer_.resize(next_size());
    return Status::block;
}

bool BlockReader::read_bytes()
{
    while (end_ < buffer_.size() && !at_end_) {
        const ssize_t got = read_on(fd_, buffer_.data() + end_, buffer_.size() - end_);
        if (got < 0) {
            return false;
        }
        at_end_ = got == 0;
        end_ += static_cast<std::size_t>(got);
    }
    return true;
}

bool BlockReader::read_utf16()
{
    constexpr std::size_t piece_size = 8U << 10;
    std::array<char, piece_size> piece;
    for (;;) {
        end_ += utf16_.decode(buffer_.data() + end_, buffer_.size() - end_);
        if (buffer_.size() - end_ < Utf16Decoder::max_character) {
            return true;
        }
        if (raw_at_end_) {
            at_end_ = true;
            return true;
        }
        const ssize_t got = read_on(fd_, piece.data(), piece.size());
        if (got < 0) {
            return false;
        }
        if (got == 0) {
            raw_at_end_ = true;
            utf16_.end();
        }
        utf16_.feed({piece.data(), static_cast<std::size_t>(got)});
    }
}

/// What has been read so far was no UTF-8.
void BlockReader::begin_utf16()
{
    is_utf16_ = true;
    utf16_.begin(buffer_[0] == '\xFE');
    utf16_.feed({buffer_.data() + 2, end_ - 2});
    end_ = 0;
    raw_at_end_ = at_end_;
    at_end_ = false;
    if (raw_at_end_) {
        utf16_.end();
    }
}

BlockReader::Status BlockReader::fill(bool first)
{
    const std::size_t old_end = end_;
    if (!is_utf16_ && !read_bytes()) {
        return Status::failed;
    }
    const std::string_view begin(buffer_.data(), end_);
    if (first && (begin.starts_with("\xFF\xFE") || begin.starts_with("\xFE\xFF"))) {
        begin_utf16();
    } else if (first && begin.starts_with("\xEF\xBB\xBF")) {
        begin_ += 3;
    }
    if (is_utf16_ && !read_utf16()) {
        return Status::failed;
    }
    const std::string_view fresh(buffer_.data() + old_end, end_ - old_end);
    if (!fresh.empty() && std::memchr(fresh.data(), 0, fresh.size()) != nullptr) {
        return Status::binary;
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

BlockReader::Status BlockReader::advance()
{
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
        const Status grown = grow();
        if (grown == Status::large && !whole_) {
            take(end_);
            return Status::block;
        }
        if (grown != Status::block) {
            return grown;
        }
    }
}

BlockReader::Status BlockReader::next()
{
    if (limits_.must_stop()) {
        return Status::stopped;
    }
    if (meter_.exhausted()) {
        return Status::slow;
    }
    const Status status = advance();
    meter_.begin_block();
    return status;
}

} // namespace berth::guest::search

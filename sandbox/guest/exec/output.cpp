#include "sandbox/guest/exec/output.hpp"

#include "sandbox/base/release_memory.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace berth::guest {
namespace {

/// Of a stream in memory, for the readers of a job.
constexpr std::uint64_t newest_bytes = 8UL * 1024;
/// Bytes of a UTF-8 sequence that lacks its last one.
constexpr std::size_t longest_unfinished = 3;
static_assert(longest_unfinished >= protocol::longest_return);

/// Of the sequence that `byte` begins; 1 where it begins none of several.
std::size_t sequence_length(unsigned char byte)
{
    return byte >= 0xF0 && byte <= 0xF4   ? 4
           : byte >= 0xE0 && byte <= 0xEF ? 3
           : byte >= 0xC2 && byte <= 0xDF ? 2
                                          : 1;
}

} // namespace

OutputStream::OutputStream(UniqueFd pipe, std::uint64_t head_limit, std::uint64_t tail_limit,
                           SpillStore& store, std::string name)
    : pipe_(std::move(pipe)), shown_(head_limit, tail_limit), newest_(0, newest_bytes),
      log_(store, std::move(name))
{
}

OutputStream::State OutputStream::read_some(std::span<char> buffer, int reads)
{
    while (pipe_ && reads-- > 0) {
        const ssize_t size = ::read(pipe_.get(), buffer.data(), buffer.size());
        if (size > 0) {
            add({buffer.data(), static_cast<std::size_t>(size)});
        } else if (size < 0 && errno == EAGAIN) {
            return State::quiet;
        } else if (size == 0 || errno != EINTR) {
            return State::ended;
        }
    }
    return pipe_ ? State::more : State::ended;
}

void OutputStream::add(std::string_view data)
{
    if (data.empty()) {
        return;
    }
    const bool fits = is_job_ ? newest_.has_room(data.size()) : shown_.has_room(data.size());
    if (!log_.started() && (!fits || protocol::has_rewriting(ending_, data))) {
        spill_all();
    }
    log_.write(total_bytes(), data);
    last_data_ = BootClock::now();
    const auto newline = data.rfind('\n');
    if (newline != std::string_view::npos || lines_end_ == total_bytes()) {
        unfinished_since_ = last_data_;
    }
    if (newline != std::string_view::npos) {
        lines_end_ = total_bytes() + newline + 1;
        is_rewritten_ = false;
    }
    is_rewritten_ |= newline == std::string_view::npos
                         ? protocol::has_return(ending_, data)
                         : protocol::has_return({}, data.substr(newline + 1));
    newest_.add(data);
    if (!is_job_) {
        shown_.add(data);
    }
    ending_ += data.substr(data.size() - std::min(data.size(), longest_unfinished));
    ending_.erase(0, ending_.size() - std::min(ending_.size(), longest_unfinished));
}

std::uint64_t OutputStream::characters_end() const noexcept
{
    for (std::size_t size = 1; pipe_ && size <= ending_.size(); ++size) {
        const auto byte = static_cast<unsigned char>(ending_[ending_.size() - size]);
        if ((byte & 0xC0U) != 0x80U) {
            return total_bytes() - (sequence_length(byte) > size ? size : 0);
        }
    }
    return total_bytes();
}

protocol::PrintedTail OutputStream::newest(std::size_t size) const
{
    std::string text = newest_.end(size);
    text.resize(text.size() -
                std::min<std::uint64_t>(text.size(), total_bytes() - characters_end()));
    return {.text = std::move(text), .total_bytes = characters_end()};
}

void OutputStream::spill_all()
{
    if (!log_.started()) {
        log_.start();
        // Of one of the two nothing has been left out yet.
        log_.write(0, newest_.omitted_bytes() == 0 ? newest_.tail() : shown_.whole());
    }
}

void OutputStream::keep_newest()
{
    if (total_bytes() > newest_bytes) {
        spill_all();
    }
    is_job_ = true;
    release_memory(shown_, protocol::FoldedText(0, 0));
    log_.rotate();
    if (!pipe_) {
        log_.close();
    }
}

std::string OutputStream::read(std::uint64_t& offset, std::uint64_t end, std::size_t size) const
{
    end = std::min(end, total_bytes());
    const std::uint64_t in_memory = newest_.omitted_bytes();
    if (offset < in_memory) {
        std::string piece = log_.read(offset, std::min(end, in_memory), size);
        if (!piece.empty()) {
            return piece;
        }
        offset = std::min(end, in_memory);
    }
    return offset >= end ? std::string()
                         : newest_.tail().substr(offset - in_memory,
                                                 std::min<std::uint64_t>(size, end - offset));
}

protocol::StreamOutput OutputStream::result() const
{
    protocol::StreamOutput out;
    shown_.put_into(out);
    if (log_.started()) {
        SpillFile& file = log_.file();
        file.check();
        // A full disk may have left a file with nothing in it.
        if (file.bytes() > 0 || file.error().empty()) {
            out.spill_path = file.path();
        }
        out.spill_bytes = file.bytes();
        out.spill_error = file.error();
    }
    out.held_open = pipe_.valid();
    return out;
}

std::uint64_t OutputStream::widest() const
{
    const std::uint64_t bytes = total_bytes();
    // What is in a file already needs none because of its width.
    return log_.started() ? bytes : std::max<std::uint64_t>(bytes, escaped_count(shown_.whole()));
}

void OutputStream::drop_kept() noexcept
{
    release_memory(shown_, protocol::FoldedText(0, 0));
    newest_.drop();
}

void OutputStream::close() noexcept
{
    pipe_.reset();
    log_.close();
}

} // namespace berth::guest

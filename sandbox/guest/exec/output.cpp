#include "sandbox/guest/exec/output.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace berth::guest {
namespace {

std::uint64_t count_newlines(std::string_view text)
{
    return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

} // namespace

OutputStream::OutputStream(UniqueFd pipe, std::uint64_t head_limit, std::uint64_t tail_limit,
                           SpillStore& store, std::string name)
    : pipe_(std::move(pipe)), head_limit_(head_limit), tail_limit_(tail_limit), store_(store),
      name_(std::move(name))
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
    if (!spill_ && total_bytes_ + data.size() > head_limit_ + tail_limit_) {
        spill_all();
    }
    if (spill_) {
        spill_->write(data);
    }
    total_bytes_ += data.size();
    newlines_ += count_newlines(data);
    ends_with_newline_ = data.back() == '\n';
    keep(data);
}

void OutputStream::spill_all()
{
    if (!spill_) {
        spill_ = store_.create(name_);
        // Nothing has been left out yet: the two are one piece.
        spill_->write(head_);
        spill_->write(tail());
    }
}

void OutputStream::keep(std::string_view data)
{
    const std::size_t room = head_limit_ - std::min<std::uint64_t>(head_.size(), head_limit_);
    head_.append(data.substr(0, room));
    data.remove_prefix(std::min(room, data.size()));
    if (tail_limit_ == 0 || data.empty()) {
        return;
    }
    if (data.size() >= tail_limit_) {
        ring_.assign(data.substr(data.size() - tail_limit_));
        ring_start_ = 0;
        return;
    }
    const std::size_t growth = std::min<std::size_t>(tail_limit_ - ring_.size(), data.size());
    ring_.append(data.substr(0, growth));
    data.remove_prefix(growth);
    while (!data.empty()) {
        const std::size_t piece = std::min(data.size(), ring_.size() - ring_start_);
        data.copy(ring_.data() + ring_start_, piece);
        ring_start_ = (ring_start_ + piece) % ring_.size();
        data.remove_prefix(piece);
    }
}

std::string OutputStream::tail() const
{
    return ring_.substr(ring_start_) + ring_.substr(0, ring_start_);
}

void OutputStream::drop_kept() noexcept
{
    head_limit_ = 0;
    tail_limit_ = 0;
    head_ = {};
    ring_ = {};
    ring_start_ = 0;
}

protocol::StreamOutput OutputStream::result() const
{
    protocol::StreamOutput out;
    out.head = head_;
    out.tail = tail();
    out.total_bytes = total_bytes_;
    out.total_lines = newlines_ + (ends_with_newline_ ? 0 : 1);
    out.omitted_bytes = total_bytes_ - out.head.size() - out.tail.size();
    out.omitted_lines = newlines_ - count_newlines(out.head) - count_newlines(out.tail);
    if (spill_) {
        spill_->check();
        out.spill_path = spill_->path();
        out.spill_bytes = spill_->bytes();
        out.spill_error = spill_->error();
    }
    out.held_open = pipe_.valid();
    return out;
}

void OutputStream::close() noexcept
{
    pipe_.reset();
    if (spill_) {
        spill_->close();
    }
}

} // namespace berth::guest

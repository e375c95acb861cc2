#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::protocol {

/// The beginning and the end of a text of any length, with what is between counted. Memory: at most
/// head_limit + tail_limit bytes.
class KeptText {
  public:
    KeptText(std::uint64_t head_limit, std::uint64_t tail_limit)
        : head_limit_(head_limit), tail_limit_(tail_limit)
    {
    }

    void add(std::string_view data);

    [[nodiscard]] const std::string& head() const noexcept { return head_; }

    /// What follows the head, or the omitted bytes.
    [[nodiscard]] std::string tail() const;

    /// head() and tail(), without a copy of them.
    void move_to(std::string& head, std::string& tail) &&;

    [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }

    /// Newlines, plus one for an unfinished last line.
    [[nodiscard]] std::uint64_t total_lines() const noexcept
    {
        return newlines_ + (ends_with_newline_ ? 0 : 1);
    }

    [[nodiscard]] bool ends_with_newline() const noexcept { return ends_with_newline_; }

    [[nodiscard]] std::uint64_t kept_bytes() const noexcept { return head_.size() + ring_.size(); }

    /// The last `size` bytes of the text, or as many of them as are kept.
    [[nodiscard]] std::string end(std::size_t size) const;

    [[nodiscard]] std::uint64_t omitted_bytes() const noexcept
    {
        return total_bytes_ - kept_bytes();
    }

    [[nodiscard]] std::uint64_t omitted_lines() const;

    /// Only counts from now on.
    void drop() noexcept;

    /// `size` more bytes are kept without leaving any out.
    [[nodiscard]] bool has_room(std::size_t size) const noexcept
    {
        return total_bytes_ + size <= head_limit_ + tail_limit_;
    }

  private:
    void keep(std::string_view data);

    std::uint64_t head_limit_;
    std::uint64_t tail_limit_;
    std::string head_;
    std::string ring_;           ///< grows to tail_limit_, then is written round
    std::size_t ring_start_ = 0; ///< of the oldest byte, once it is full
    std::uint64_t total_bytes_ = 0;
    std::uint64_t newlines_ = 0;
    bool ends_with_newline_ = true;
};

} // namespace berth::protocol

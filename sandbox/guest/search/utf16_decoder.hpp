#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::guest::search {

/// Makes UTF-8 of UTF-16 that comes in pieces. What is not valid becomes U+FFFD, as in ripgrep.
class Utf16Decoder {
  public:
    /// Bytes that one step may write.
    static constexpr std::size_t max_character = 4;

    void begin(bool big_endian);

    void feed(std::string_view raw);

    /// Nothing more will be fed.
    void end() noexcept { ended_ = true; }

    /// Writes what fits in `room` bytes at `out`; returns how many.
    [[nodiscard]] std::size_t decode(char* out, std::size_t room) noexcept;

  private:
    [[nodiscard]] unsigned unit(std::size_t at) const noexcept;
    [[nodiscard]] bool next(char32_t& character) noexcept;

    std::string raw_;
    std::size_t at_ = 0;
    bool big_endian_ = false;
    bool ended_ = false;
};

} // namespace berth::guest::search

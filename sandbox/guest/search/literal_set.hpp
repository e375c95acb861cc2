#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest::search {

/// Finds any of a few byte strings in large text, 32 bytes at a time where the processor has AVX2.
/// Of each string one to three neighbouring bytes, rare ones where there is a choice, are looked
/// for by two table look-ups per byte (low and high half); what passes is compared in full.
/// Immutable, so any thread may search.
class LiteralSet {
  public:
    static constexpr std::size_t max_size = 64;

    struct Hit {
        std::size_t at = std::string_view::npos;
        std::size_t size = 0;

        explicit operator bool() const noexcept { return at != std::string_view::npos; }
    };

    /// One to max_size strings, none empty. `fold`: ASCII letters match in both cases.
    LiteralSet(std::vector<std::string> literals, bool fold);

    /// An occurrence that begins at `from` or after it. With one literal the first; with several
    /// one in the first line that has any, provided that no literal has a newline in it.
    [[nodiscard]] Hit find(std::string_view text, std::size_t from) const noexcept;

    [[nodiscard]] const std::vector<std::string>& literals() const noexcept { return literals_; }

  private:
    static constexpr std::size_t max_window = 3;

    struct Tables {
        alignas(32) std::array<std::uint8_t, 32> low{};  ///< buckets by low half of the byte
        alignas(32) std::array<std::uint8_t, 32> high{}; ///< twice the same 16: one for each lane
    };

    void add_byte(std::size_t position, unsigned char byte, unsigned bucket) noexcept;
    [[nodiscard]] Hit verify(std::string_view text, std::size_t from, std::size_t window,
                             unsigned buckets) const noexcept;
    [[nodiscard]] Hit find_scalar(std::string_view text, std::size_t from,
                                  std::size_t at) const noexcept;
    [[nodiscard]] Hit find_avx2(std::string_view text, std::size_t from) const noexcept;

    std::array<Tables, max_window> tables_{}; // first: its alignment would leave a gap
    std::vector<std::string> literals_;
    std::vector<std::size_t> offsets_; ///< of the window in each literal
    std::array<std::vector<std::size_t>, 8> buckets_;
    std::size_t window_ = max_window;
    bool fold_;
};

} // namespace berth::guest::search

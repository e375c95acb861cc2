#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// What does not count in a comparison.
enum class Fold : unsigned {
    blanks = 1,  ///< every run of blanks is one space, none at the ends
    signs = 2,   ///< typographic quotes, dashes and blanks are the plain ones; ' and ` are "
    letters = 4, ///< A is a
};

/// `folds`: a set of Fold.
[[nodiscard]] std::string fold(std::string_view line, unsigned folds);

/// Pairs of neighbouring characters are counted in so many slots; a few share one.
inline constexpr std::size_t pair_slots = 4096;

/// How much lines are like one line: the share of common pairs of neighbouring characters (Dice's
/// coefficient) after all folds. 100 only for lines that are the same then.
class Similarity {
  public:
    explicit Similarity(std::string_view line);

    [[nodiscard]] unsigned percent(std::string_view other) const;

    /// As that, of the part of `other` that is most like the line and as long as it, after all
    /// folds: for a text that may be a part of a line.
    [[nodiscard]] unsigned percent_of_part(std::string_view other) const;

  private:
    [[nodiscard]] std::size_t common_pairs(std::string_view folded) const;

    using Counts = std::array<std::uint16_t, pair_slots>;

    std::string line_;
    std::size_t pairs_ = 0;
    Counts counts_{};
    mutable Counts used_{};
};

/// The part of `line` that is as long as `text` and has most of its pairs of neighbouring
/// characters, large and small letters alike; the line where it is no longer.
[[nodiscard]] std::string_view part_like(std::string_view text, std::string_view line);

} // namespace berth::guest

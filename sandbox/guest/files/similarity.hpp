#pragma once

#include <array>
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

/// How much lines are like one line: the share of common pairs of neighbouring characters (Dice's
/// coefficient) after all folds. 100 only for lines that are the same then.
class Similarity {
  public:
    explicit Similarity(std::string_view line);

    [[nodiscard]] unsigned percent(std::string_view other) const;

  private:
    static constexpr std::size_t slots = 4096;
    using Counts = std::array<std::uint16_t, slots>;

    std::string line_;
    std::size_t pairs_ = 0;
    Counts counts_{};
    mutable Counts used_{};
};

} // namespace berth::guest

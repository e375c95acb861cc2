#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// Slips of a typist between two words: a byte too many, too few or another one, and two
/// neighbours in each other's place (optimal string alignment: no byte slips twice). Whether an
/// ASCII letter is large or small is none. Takes time in proportion to the product of the lengths.
[[nodiscard]] std::size_t slips_between(std::string_view a, std::string_view b);

/// As many slips as leave a word of this length recognisable.
[[nodiscard]] std::size_t most_slips(std::size_t length);

/// The word that `word` was probably meant to be, of equals the first; empty when none is near, or
/// when it is longer than any name that berth knows.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& words);

} // namespace berth

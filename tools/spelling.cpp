#include "tools/spelling.hpp"

#include <algorithm>
#include <numeric>

namespace berth::tools {
namespace {

/// Levenshtein's distance: insertions, deletions and replacements of one byte.
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row[b.size()];
}

} // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& words)
{
    // A key may be as long as the whole request; the table would be its square.
    constexpr std::size_t longest = 64;
    if (word.size() > longest) {
        return {};
    }
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const auto& candidate : words) {
        const auto away = distance(word, candidate);
        if (away < best_distance && away < candidate.size()) {
            best_distance = away;
            best = candidate;
        }
    }
    return best;
}

} // namespace berth::tools

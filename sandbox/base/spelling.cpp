#include "sandbox/base/spelling.hpp"

#include <algorithm>
#include <numeric>

namespace berth {

std::size_t edit_distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t above = row[j + 1];
            row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0U : 1U)});
            diagonal = above;
        }
    }
    return row.back();
}

std::size_t most_slips(std::size_t length)
{
    return std::max<std::size_t>(2, length / 3);
}

std::string nearest(std::string_view word, const std::vector<std::string>& words)
{
    // A key may be as long as the whole request; the time would be its square.
    constexpr std::size_t longest = 64;
    if (word.size() > longest) {
        return {};
    }
    std::string best;
    std::size_t best_distance = most_slips(word.size()) + 1;
    for (const auto& candidate : words) {
        const auto away = edit_distance(word, candidate);
        if (away < best_distance && away < candidate.size()) {
            best_distance = away;
            best = candidate;
        }
    }
    return best;
}

} // namespace berth

#include "sandbox/base/spelling.hpp"

#include <algorithm>
#include <numeric>

namespace berth {

namespace {

char folded(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool alike(char a, char b) noexcept
{
    return folded(a) == folded(b);
}

} // namespace

std::size_t slips_between(std::string_view a, std::string_view b)
{
    // Rows of the table of all beginnings of `a` against all beginnings of `b`.
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(above);
        above.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (alike(a[i - 1], b[j - 1]) ? 0U : 1U);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && alike(a[i - 1], b[j - 2]) && alike(a[i - 2], b[j - 1])) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
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
        const auto away = slips_between(word, candidate);
        if (away < best_distance && away < candidate.size()) {
            best_distance = away;
            best = candidate;
        }
    }
    return best;
}

} // namespace berth

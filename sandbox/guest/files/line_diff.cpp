#include "sandbox/guest/files/line_diff.hpp"

#include <algorithm>
#include <cstdint>

namespace berth::guest {
namespace {

constexpr std::size_t max_pairs = 1'000'000;

using Lines = std::vector<std::string_view>;

/// Lengths of the longest common subsequences of all pairs of tails, row by row.
class CommonLengths {
  public:
    CommonLengths(const Lines& a, std::size_t a_begin, std::size_t a_end, const Lines& b,
                  std::size_t b_begin, std::size_t b_end)
        : width_(b_end - b_begin + 1), lengths_((a_end - a_begin + 1) * width_)
    {
        for (std::size_t i = a_end - a_begin; i-- > 0;) {
            for (std::size_t j = b_end - b_begin; j-- > 0;) {
                lengths_[i * width_ + j] = a[a_begin + i] == b[b_begin + j]
                                               ? at(i + 1, j + 1) + 1
                                               : std::max(at(i + 1, j), at(i, j + 1));
            }
        }
    }

    [[nodiscard]] std::uint32_t at(std::size_t i, std::size_t j) const
    {
        return lengths_[i * width_ + j];
    }

  private:
    std::size_t width_;
    std::vector<std::uint32_t> lengths_;
};

} // namespace

std::vector<std::string_view> split_lines(std::string_view text)
{
    Lines lines;
    while (!text.empty()) {
        const auto newline = text.find('\n');
        const auto line = text.substr(0, newline == std::string_view::npos ? newline : newline + 1);
        lines.push_back(line);
        text.remove_prefix(line.size());
    }
    return lines;
}

std::vector<LineChange> diff_lines(const Lines& old_lines, const Lines& new_lines)
{
    std::size_t begin = 0;
    const std::size_t shorter = std::min(old_lines.size(), new_lines.size());
    while (begin < shorter && old_lines[begin] == new_lines[begin]) {
        ++begin;
    }
    std::size_t old_end = old_lines.size();
    std::size_t new_end = new_lines.size();
    while (old_end > begin && new_end > begin && old_lines[old_end - 1] == new_lines[new_end - 1]) {
        --old_end;
        --new_end;
    }
    const std::size_t n = old_end - begin;
    const std::size_t m = new_end - begin;
    if (n == 0 && m == 0) {
        return {};
    }
    if (n == 0 || m == 0 || n > max_pairs / m) {
        return {{.old_line = begin, .removed = n, .new_line = begin, .added = m}};
    }
    const CommonLengths common(old_lines, begin, old_end, new_lines, begin, new_end);
    std::vector<LineChange> changes;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < n || j < m) {
        if (i < n && j < m && old_lines[begin + i] == new_lines[begin + j]) {
            ++i;
            ++j;
            continue;
        }
        LineChange change{.old_line = begin + i, .removed = 0, .new_line = begin + j, .added = 0};
        while ((i < n || j < m) &&
               !(i < n && j < m && old_lines[begin + i] == new_lines[begin + j])) {
            if (j == m || (i < n && common.at(i + 1, j) >= common.at(i, j + 1))) {
                ++i;
                ++change.removed;
            } else {
                ++j;
                ++change.added;
            }
        }
        changes.push_back(change);
    }
    return changes;
}

} // namespace berth::guest

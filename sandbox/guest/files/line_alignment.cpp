#include "sandbox/guest/files/line_alignment.hpp"

#include <algorithm>
#include <string_view>

namespace berth::guest {
namespace {

/// Less than any line is worth: two lines that differ still rather meet than not.
constexpr int missing_line_cost = 1;

/// The best score of the first lines of the text in the first ones of the place.
class ScoreTable {
  public:
    ScoreTable(const WantedLines& wanted, const NearPlace& place)
        : wanted_(wanted), place_(place), columns_(place.actual.size() + 1),
          scores_((wanted.lines.size() + 1) * columns_)
    {
        const auto bare_lines = [](const std::vector<std::string>& lines) {
            std::vector<std::string_view> result(lines.size());
            std::transform(lines.begin(), lines.end(), result.begin(), bare_line);
            return result;
        };
        bare_wanted_ = bare_lines(wanted.lines);
        bare_actual_ = bare_lines(place.actual);
        for (std::size_t i = 1; i <= wanted.lines.size(); ++i) {
            for (std::size_t j = 0; j < columns_; ++j) {
                score(i, j) = best(i, j);
            }
        }
    }

    /// Lines behind the best place of the whole text are not used.
    [[nodiscard]] std::size_t end() const
    {
        const auto row = scores_.end() - static_cast<std::ptrdiff_t>(columns_);
        return static_cast<std::size_t>(std::max_element(row, scores_.end()) - row);
    }

    /// Whether these are reached by a meeting of their last lines.
    [[nodiscard]] bool meet(std::size_t i, std::size_t j) const
    {
        return j > 0 && score(i, j) == score(i - 1, j - 1) + gain(i - 1, j - 1);
    }

    [[nodiscard]] bool is_missing(std::size_t i, std::size_t j) const
    {
        return j == 0 || score(i, j) == score(i - 1, j) - missing_line_cost;
    }

  private:
    [[nodiscard]] int score(std::size_t i, std::size_t j) const
    {
        return scores_[i * columns_ + j];
    }

    int& score(std::size_t i, std::size_t j) { return scores_[i * columns_ + j]; }

    [[nodiscard]] int best(std::size_t i, std::size_t j) const
    {
        int result = score(i - 1, j) - missing_line_cost;
        if (j > 0) {
            result = std::max({result, score(i - 1, j - 1) + gain(i - 1, j - 1),
                               score(i, j - 1) - added_line_cost});
        }
        return result;
    }

    /// Of a meeting of these two lines.
    [[nodiscard]] int gain(std::size_t i, std::size_t j) const
    {
        int result = 0;
        const auto bare = bare_wanted_[i];
        if (bare == bare_actual_[j]) {
            result = weight_of_line(bare) - (wanted_.lines[i] == place_.actual[j] ? 0 : 1);
        } else if (wanted_.is_part(i) && wanted_.same(i, place_.actual[j])) {
            result = weight_of_line(bare) - 1;
        }
        const bool anchor = place_.anchor == place_.first + j && place_.wanted == i;
        return anchor ? std::max(result, static_cast<int>(place_.percent)) : result;
    }

    const WantedLines& wanted_;
    const NearPlace& place_;
    std::size_t columns_;
    std::vector<int> scores_;
    std::vector<std::string_view> bare_wanted_;
    std::vector<std::string_view> bare_actual_;
};

} // namespace

std::vector<std::optional<std::size_t>> align_lines(const WantedLines& wanted,
                                                    const NearPlace& place)
{
    const ScoreTable table(wanted, place);
    std::vector<std::optional<std::size_t>> result(wanted.lines.size());
    std::size_t j = table.end();
    for (std::size_t i = wanted.lines.size(); i > 0;) {
        if (table.meet(i, j)) {
            result[--i] = --j;
        } else if (table.is_missing(i, j)) {
            --i;
        } else {
            --j;
        }
    }
    return result;
}

} // namespace berth::guest

#include "sandbox/guest/files/nearest_lines.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/line_alignment.hpp"
#include "sandbox/guest/files/line_difference.hpp"
#include "sandbox/guest/files/line_walk.hpp"
#include "sandbox/guest/files/near_places.hpp"
#include "sandbox/guest/files/similarity.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace berth::guest {
namespace {

constexpr std::size_t line_bytes = walked_bytes; ///< of a line
constexpr std::size_t shown_bytes = 160;
constexpr std::size_t most_near = 3;
constexpr unsigned least_percent = 50;

std::string shown_line(std::string_view line)
{
    return utf8::sanitize(utf8::prefix_bytes(line, shown_bytes)) +
           (line.size() > shown_bytes ? "…" : "");
}

/// All lines are the same as far as they are compared, and the text does not occur all the same.
void explain_same(NearLines& near, const WantedLines& text, const std::vector<std::string>& actual)
{
    const auto& wanted = text.lines;
    if (text.more) {
        near.first_difference = near.line + wanted.size();
        near.difference = "differs in it or a line behind it, of which no more are compared";
        return;
    }
    const auto is_long = [](const std::string& line) { return line.size() >= line_bytes; };
    const auto beyond = std::find_if(wanted.begin(), wanted.end(), is_long);
    const bool at_end = text.complete && beyond == wanted.end();
    const auto line = at_end ? wanted.size() - 1
                             : static_cast<std::size_t>(beyond - wanted.begin()) % wanted.size();
    near.first_difference = near.line + line;
    near.difference =
        at_end ? "differs in the newline at its end: it is the file's last line and has none"
               : "differs in something behind the first 2,000 bytes, or in the end of the line";
    if (line < actual.size()) {
        near.actual = shown_line(actual[line]);
    }
}

/// Behind the number and tab that read_file puts in front of a line; empty: there is none.
std::string_view behind_number(std::string_view line)
{
    const auto digits = std::min(line.find_first_not_of(" \t"), line.size());
    const auto tab = line.find_first_not_of("0123456789", digits);
    return tab != line.npos && tab > digits && line[tab] == '\t' ? line.substr(tab + 1)
                                                                 : std::string_view();
}

/// In what a line of the text and one of the file differ, and what of that line shows it.
void explain(NearLines& near, std::string_view wanted, std::string_view actual, bool part)
{
    const auto bare = behind_number(wanted);
    std::string difference = describe_difference(wanted, actual);
    if (!bare.empty() && actual.find(bare) != actual.npos) {
        difference = "the line number in front, which is read_file's and not the file's";
    } else if (part && difference == "the text") {
        const auto alike = part_like(wanted, actual);
        difference = describe_difference(wanted, alike);
        actual = actual.size() > shown_bytes ? alike : actual;
    }
    near.difference = "differs in " + difference;
    near.actual = shown_line(wanted.ends_with('\r') ? without_returns(actual) : actual);
}

/// Compares a text with one place, line by line as they are aligned.
class NearComparison {
  public:
    NearComparison(const WantedLines& text, const NearPlace& place)
        : text_(text), place_(place), pairs_(align_lines(text, place))
    {
        const auto met = [](const auto& pair) { return pair.has_value(); };
        const auto first = std::find_if(pairs_.begin(), pairs_.end(), met);
        if (first != pairs_.end()) {
            next_ = **first;
            near_.line = number(next_);
        }
    }

    /// Nothing where no line of the text has a counterpart.
    [[nodiscard]] std::optional<NearLines> result()
    {
        if (near_.line == 0) {
            return std::nullopt;
        }
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            if (pairs_[i]) {
                pass_added(*pairs_[i]);
                compare_pair(i, *pairs_[i]);
            } else if (near_.first_difference == 0) {
                explain_missing(i);
            }
        }
        near_.percent =
            static_cast<unsigned>(std::clamp(sum_ / static_cast<int>(pairs_.size()), 0, 99));
        if (near_.first_difference == 0) {
            explain_same(near_, text_, {place_.actual.begin() + start(), place_.actual.end()});
        }
        return near_;
    }

  private:
    [[nodiscard]] std::uint64_t number(std::size_t j) const { return place_.first + j; }

    [[nodiscard]] std::ptrdiff_t start() const
    {
        return static_cast<std::ptrdiff_t>(near_.line - place_.first);
    }

    /// Lines of the document in front of that one, which the text has not.
    void pass_added(std::size_t j)
    {
        sum_ -= added_line_cost * static_cast<int>(j - next_);
        if (j > next_ && near_.first_difference == 0) {
            near_.first_difference = number(next_);
            near_.difference = "is not in the text";
            near_.actual = shown_line(place_.actual[next_]);
        }
        next_ = j + 1;
    }

    void compare_pair(std::size_t i, std::size_t j)
    {
        const std::string& wanted = text_.lines[i];
        std::string_view actual = place_.actual[j];
        if (text_.same(i, actual)) {
            sum_ += 100;
            return;
        }
        const bool part = text_.is_part(i);
        const Similarity similarity(wanted);
        sum_ += static_cast<int>(
            std::min(99U, part ? similarity.percent_of_part(actual) : similarity.percent(actual)));
        if (near_.first_difference == 0) {
            near_.first_difference = number(j);
            if (i + 1 == text_.lines.size() && !text_.complete) {
                actual = without_returns(actual); // of a line end that the text does not ask for
            }
            explain(near_, wanted, actual, part);
        }
    }

    /// A line of the text that the document has not.
    void explain_missing(std::size_t i)
    {
        near_.first_difference = number(next_);
        if (next_ >= place_.actual.size()) {
            near_.difference = "differs in being there: the file has ended";
            return;
        }
        near_.difference = "has not in front of it the text's line " + std::to_string(i + 1) +
                           ", `" + visible(shown_line(text_.lines[i])) + "`";
        near_.actual = shown_line(place_.actual[next_]);
    }

    const WantedLines& text_;
    const NearPlace& place_;
    std::vector<std::optional<std::size_t>> pairs_;
    NearLines near_;
    std::size_t next_ = 0; ///< line of the place behind what was compared
    int sum_ = 0;          ///< of percents
};

bool is_nearer(const NearLines& a, const NearLines& b)
{
    return a.percent != b.percent ? a.percent > b.percent : a.line < b.line;
}

} // namespace

std::vector<NearLines> nearest_lines(const Document& document, std::string_view text)
{
    const auto wanted = wanted_lines(text);
    std::vector<NearLines> result;
    if (wanted.lines.empty()) {
        return result;
    }
    for (const auto& place : near_places(document, wanted)) {
        const auto near = NearComparison(wanted, place).result();
        if (!near || near->percent < least_percent) {
            continue;
        }
        // Several ways lead to one place.
        const auto same = std::find_if(result.begin(), result.end(), [&](const NearLines& other) {
            return other.line == near->line;
        });
        if (same == result.end()) {
            result.push_back(*near);
        } else if (is_nearer(*near, *same)) {
            *same = *near;
        }
    }
    std::sort(result.begin(), result.end(), is_nearer);
    result.resize(std::min(result.size(), most_near));
    return result;
}

} // namespace berth::guest

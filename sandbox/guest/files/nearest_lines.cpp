#include "sandbox/guest/files/nearest_lines.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/files/line_difference.hpp"
#include "sandbox/guest/files/line_walk.hpp"
#include "sandbox/guest/files/similarity.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace berth::guest {
namespace {

constexpr std::uint64_t looked_at = 32ULL * 1024 * 1024;
constexpr std::size_t compared_lines = 200;      ///< of the text
constexpr std::size_t line_bytes = walked_bytes; ///< of a line
constexpr std::size_t shown_bytes = 160;
constexpr std::size_t candidates = 3;
constexpr unsigned least_percent = 50;

/// Of the text that was looked for.
struct Wanted {
    std::vector<std::string> lines; ///< the first `compared_lines`
    bool complete = false;          ///< the last of them has a newline
    bool more = false;              ///< lines than that
};

Wanted lines_of_text(std::string_view text)
{
    Wanted wanted{.lines = {}, .complete = text.ends_with('\n')};
    const auto take = [&](const WalkedLine& line) {
        if (wanted.lines.size() < compared_lines) {
            wanted.lines.emplace_back(line.text);
        } else {
            wanted.more = wanted.complete = true;
        }
    };
    LineSplitter splitter;
    splitter.feed(text, take);
    splitter.finish(take);
    return wanted;
}

struct Candidate {
    std::uint64_t line = 0; ///< where the text would begin
    unsigned percent = 0;   ///< of the anchor
    std::vector<std::string> actual;
};

/// Whether this line of the text may be a part of one: the first may begin in its middle, and the
/// last end there, unless a newline follows it.
bool is_part(const Wanted& text, std::size_t i)
{
    return i == 0 || (i + 1 == text.lines.size() && !text.complete);
}

/// The places where the most telling line of the text (its longest) has something alike.
std::vector<Candidate> find_candidates(const Document& document, const Wanted& text)
{
    const auto& wanted = text.lines;
    const auto longest = std::max_element(
        wanted.begin(), wanted.end(),
        [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
    const auto anchor = static_cast<std::uint64_t>(longest - wanted.begin());
    const Similarity similarity(*longest);
    std::vector<Candidate> best;
    const bool part = is_part(text, static_cast<std::size_t>(anchor));
    const auto compare_line = [&](const WalkedLine& line) {
        const unsigned percent =
            part ? similarity.percent_of_part(line.text) : similarity.percent(line.text);
        if (line.number <= anchor || percent < least_percent ||
            (best.size() == candidates && percent <= best.back().percent)) {
            return;
        }
        best.push_back({.line = line.number - anchor, .percent = percent, .actual = {}});
        // The nearest first, of equals the one further up.
        std::sort(best.begin(), best.end(), [](const Candidate& a, const Candidate& b) {
            return a.percent != b.percent ? a.percent > b.percent : a.line < b.line;
        });
        best.resize(std::min(best.size(), candidates));
    };
    walk_lines(document, compare_line, looked_at);
    return best;
}

/// The first line of a text may begin in the middle of a line, and its last end there, unless a
/// newline follows it (`complete`).
bool same_line(const std::vector<std::string>& wanted, std::size_t i, bool complete,
               std::string_view actual)
{
    const bool first = i == 0;
    const bool open_end = i + 1 == wanted.size() && !complete;
    if (first && open_end) {
        return actual.find(wanted[i]) != std::string_view::npos;
    }
    return first      ? actual.ends_with(wanted[i])
           : open_end ? actual.starts_with(wanted[i])
                      : actual == wanted[i];
}

/// All lines are the same as far as they are compared, and the text does not occur all the same.
void explain_same(NearLines& near, const Wanted& text, const Candidate& candidate)
{
    const auto& wanted = text.lines;
    if (text.more) {
        near.first_difference = candidate.line + wanted.size();
        near.difference = "it or a line behind it, of which no more are compared";
        return;
    }
    const auto is_long = [](const std::string& line) { return line.size() >= line_bytes; };
    const auto beyond = std::find_if(wanted.begin(), wanted.end(), is_long);
    const bool at_end = text.complete && beyond == wanted.end();
    const auto line = at_end ? wanted.size() - 1
                             : static_cast<std::size_t>(beyond - wanted.begin()) % wanted.size();
    near.first_difference = candidate.line + line;
    near.difference = at_end ? "the newline at its end: it is the file's last line and has none"
                             : "something behind the first 2,000 bytes, or in the end of the line";
    if (line < candidate.actual.size()) {
        near.actual = utf8::sanitize(utf8::prefix_bytes(candidate.actual[line], shown_bytes));
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
    near.difference = describe_difference(wanted, actual);
    if (!bare.empty() && actual.find(bare) != actual.npos) {
        near.difference = "the line number in front, which is read_file's and not the file's";
    } else if (part && near.difference == "the text") {
        const auto alike = part_like(wanted, actual);
        near.difference = describe_difference(wanted, alike);
        actual = actual.size() > shown_bytes ? alike : actual;
    }
    const auto shown = wanted.ends_with('\r') ? without_returns(actual) : actual;
    near.actual = utf8::sanitize(utf8::prefix_bytes(shown, shown_bytes));
}

NearLines compare(const Wanted& text, const Candidate& candidate)
{
    const auto& wanted = text.lines;
    NearLines near{.line = candidate.line,
                   .percent = 0,
                   .first_difference = 0,
                   .actual = {},
                   .difference = {}};
    unsigned sum = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (i >= candidate.actual.size()) {
            if (near.first_difference == 0) {
                near.first_difference = candidate.line + i;
                near.difference = "being there: the file has ended";
            }
            break;
        }
        std::string_view actual = candidate.actual[i];
        if (same_line(wanted, i, text.complete, actual)) {
            sum += 100;
            continue;
        }
        const bool part = is_part(text, i);
        const Similarity similarity(wanted[i]);
        sum +=
            std::min(99U, part ? similarity.percent_of_part(actual) : similarity.percent(actual));
        if (near.first_difference == 0) {
            near.first_difference = candidate.line + i;
            if (i + 1 == wanted.size() && !text.complete) {
                actual = without_returns(actual); // of a line end that the text does not ask for
            }
            explain(near, wanted[i], actual, part);
        }
    }
    near.percent = sum / static_cast<unsigned>(wanted.size());
    if (near.first_difference == 0) {
        explain_same(near, text, candidate);
        near.percent = std::min(near.percent, 99U);
    }
    return near;
}

} // namespace

std::vector<NearLines> nearest_lines(const Document& document, std::string_view text)
{
    const auto wanted = lines_of_text(text);
    if (wanted.lines.empty()) {
        return {};
    }
    auto found = find_candidates(document, wanted);
    const auto keep = [&](const WalkedLine& line) {
        for (auto& candidate : found) {
            if (line.number >= candidate.line &&
                line.number < candidate.line + wanted.lines.size()) {
                candidate.actual.emplace_back(line.text);
            }
        }
    };
    walk_lines(document, keep, looked_at);
    std::vector<NearLines> result;
    result.reserve(found.size());
    for (const auto& candidate : found) {
        result.push_back(compare(wanted, candidate));
    }
    std::sort(result.begin(), result.end(), [](const NearLines& a, const NearLines& b) {
        return a.percent != b.percent ? a.percent > b.percent : a.line < b.line;
    });
    std::erase_if(result, [](const NearLines& near) { return near.percent < least_percent; });
    return result;
}

} // namespace berth::guest

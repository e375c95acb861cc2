#include "sandbox/guest/files/nearest_lines.hpp"

#include "sandbox/base/utf8.hpp"
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

std::vector<std::string> lines_of_text(std::string_view text)
{
    std::vector<std::string> lines;
    const auto take = [&](const WalkedLine& line) {
        if (lines.size() < compared_lines) {
            lines.emplace_back(line.text);
        }
    };
    LineSplitter splitter;
    splitter.feed(text, take);
    splitter.finish(take);
    return lines;
}

struct Candidate {
    std::uint64_t line = 0; ///< where the text would begin
    unsigned percent = 0;   ///< of the anchor
    std::vector<std::string> actual;
};

/// The places where the most telling line of the text (its longest) has something alike.
std::vector<Candidate> find_candidates(const Document& document,
                                       const std::vector<std::string>& wanted)
{
    const auto longest = std::max_element(
        wanted.begin(), wanted.end(),
        [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
    const auto anchor = static_cast<std::uint64_t>(longest - wanted.begin());
    const Similarity similarity(*longest);
    std::vector<Candidate> best;
    const auto compare_line = [&](const WalkedLine& line) {
        const unsigned percent = similarity.percent(line.text);
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
void explain_same(NearLines& near, const std::vector<std::string>& wanted, bool complete,
                  const Candidate& candidate)
{
    const auto is_long = [](const std::string& line) { return line.size() >= line_bytes; };
    const auto beyond = std::find_if(wanted.begin(), wanted.end(), is_long);
    const bool at_end = complete && beyond == wanted.end();
    const auto line = at_end ? wanted.size() - 1
                             : static_cast<std::size_t>(beyond - wanted.begin()) % wanted.size();
    near.first_difference = candidate.line + line;
    near.difference = at_end ? "the newline at its end: it is the file's last line and has none"
                             : "something behind the first 2,000 bytes, or in the end of the line";
    if (line < candidate.actual.size()) {
        near.actual = utf8::sanitize(utf8::prefix_bytes(candidate.actual[line], shown_bytes));
    }
}

NearLines compare(const std::vector<std::string>& wanted, bool complete, const Candidate& candidate)
{
    NearLines near{.line = candidate.line,
                   .percent = 0,
                   .first_difference = 0,
                   .actual = {},
                   .difference = {}};
    unsigned sum = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string_view actual =
            i < candidate.actual.size() ? std::string_view(candidate.actual[i]) : "";
        if (same_line(wanted, i, complete, actual)) {
            sum += 100;
            continue;
        }
        sum += std::min(99U, Similarity(wanted[i]).percent(actual));
        if (near.first_difference == 0) {
            near.first_difference = candidate.line + i;
            near.actual = utf8::sanitize(utf8::prefix_bytes(actual, shown_bytes));
            near.difference = describe_difference(wanted[i], actual);
        }
    }
    near.percent = sum / static_cast<unsigned>(wanted.size());
    if (near.first_difference == 0) {
        explain_same(near, wanted, complete, candidate);
        near.percent = std::min(near.percent, 99U);
    }
    return near;
}

std::string blanks_at_end(std::string_view line)
{
    const auto last = line.find_last_not_of(" \t\r");
    return std::to_string(line.size() - (last == std::string_view::npos ? 0 : last + 1));
}

bool is_combining_mark(std::string_view character)
{
    return character >= "\u0300" && character <= "\u036F" && character.size() == 2;
}

/// A letter with accents, composed (NFC) or not (NFD), becomes the same sign. It tells the two
/// forms apart without the tables of Unicode; letters of other scripts are left as they are.
std::string fold_accents(std::string_view line, bool* marks = nullptr)
{
    std::string result;
    std::size_t letter = 0; // where the last one begins in the result
    while (!line.empty()) {
        const auto size = std::max<std::size_t>(utf8::character_length(line), 1);
        const auto character = line.substr(0, size);
        line.remove_prefix(size);
        const bool mark = is_combining_mark(character);
        // Latin with diacritics: U+00C0 to U+024F, U+1E00 to U+1EFF.
        const bool composed = (size == 2 && character >= "\u00C0" && character <= "\u024F") ||
                              (size == 3 && character >= "\u1E00" && character <= "\u1EFF");
        if (mark) {
            result.resize(letter);
        } else {
            letter = result.size();
        }
        result += mark || composed ? std::string_view("\x01") : character;
        if (marks != nullptr) {
            *marks |= mark;
        }
    }
    return result;
}

bool has_combining_mark(std::string_view line)
{
    bool found = false;
    (void)fold_accents(line, &found);
    return found;
}

} // namespace

std::string describe_difference(std::string_view wanted, std::string_view actual)
{
    const auto without = [](std::string_view text, std::string_view end) {
        const auto last = text.find_last_not_of(end);
        return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
    };
    const auto has_tab = [](std::string_view text) { return text.find('\t') != text.npos; };
    if (without(wanted, "\r") == without(actual, "\r")) {
        return "a carriage return (CRLF) at the end";
    }
    if (without(wanted, " \t\r") == without(actual, " \t\r")) {
        return "blanks at the end (" + blanks_at_end(actual) + " in the file, " +
               blanks_at_end(wanted) + " in old_text)";
    }
    const unsigned blanks = static_cast<unsigned>(Fold::blanks);
    const unsigned signs = blanks | static_cast<unsigned>(Fold::signs);
    const unsigned letters = signs | static_cast<unsigned>(Fold::letters);
    if (fold(wanted, blanks) == fold(actual, blanks)) {
        return has_tab(wanted) != has_tab(actual) ? has_tab(actual)
                                                        ? "tabs where old_text has spaces"
                                                        : "spaces where old_text has tabs"
                                                  : "the number of blanks";
    }
    if (fold(wanted, signs) == fold(actual, signs)) {
        return "quotes, dashes or special blanks";
    }
    if (fold(wanted, letters) == fold(actual, letters)) {
        return "capital letters";
    }
    if (fold_accents(wanted) == fold_accents(actual)) {
        return has_combining_mark(wanted)
                   ? "the Unicode form: old_text has accents as characters of their own (NFD), the "
                     "file composed letters (NFC)"
                   : "the Unicode form: the file has accents as characters of their own (NFD), "
                     "old_text composed letters (NFC)";
    }
    return "the text";
}

std::vector<NearLines> nearest_lines(const Document& document, std::string_view text)
{
    const auto wanted = lines_of_text(text);
    if (wanted.empty()) {
        return {};
    }
    auto found = find_candidates(document, wanted);
    const auto keep = [&](const WalkedLine& line) {
        for (auto& candidate : found) {
            if (line.number >= candidate.line && line.number < candidate.line + wanted.size()) {
                candidate.actual.emplace_back(line.text);
            }
        }
    };
    walk_lines(document, keep, looked_at);
    std::vector<NearLines> result;
    result.reserve(found.size());
    for (const auto& candidate : found) {
        result.push_back(compare(wanted, text.ends_with('\n'), candidate));
    }
    std::sort(result.begin(), result.end(), [](const NearLines& a, const NearLines& b) {
        return a.percent != b.percent ? a.percent > b.percent : a.line < b.line;
    });
    std::erase_if(result, [](const NearLines& near) { return near.percent < least_percent; });
    return result;
}

} // namespace berth::guest

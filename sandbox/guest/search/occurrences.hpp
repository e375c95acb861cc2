#pragma once

#include "sandbox/guest/search/matcher.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::guest::search {

/// Where the last occurrence in a text ended; at first there is none.
using LastEnd = std::optional<std::size_t>;

/// Calls `take(Matcher::Span)` for every occurrence on the lines `lines` of `text`, which
/// find_lines() gave. As in ripgrep an empty one right after another does not count, not even on
/// the next line ("\n*" behind a newline), for which `last_end` goes from lines to lines of a text;
/// nor does one behind a text that ends without a newline. Ends early when the meter is exhausted.
template <class Take>
void for_each_occurrence(const Matcher& matcher, std::string_view text, Matcher::Span lines,
                         LastEnd& last_end, ScanMeter& meter, Take&& take)
{
    // By lines each is a text of its own, which \A and \z are about.
    const std::size_t base = matcher.multiline() ? 0 : lines.begin;
    const std::string_view subject =
        matcher.multiline() ? text : text.substr(base, lines.end - base);
    for (std::size_t from = lines.begin; from <= lines.end && from - base <= subject.size();) {
        const auto found = matcher.find(subject, from - base, meter);
        if (!found) {
            return;
        }
        const Matcher::Span match{.begin = base + found->begin, .end = base + found->end};
        if (match.begin > lines.end || match.begin == text.size()) {
            return;
        }
        const bool empty = match.begin == match.end;
        if (!empty || match.begin != last_end) {
            take(match);
        }
        last_end = match.end;
        from = match.end + (empty ? 1 : 0);
    }
}

/// How many lines `lines` are.
[[nodiscard]] inline std::uint64_t line_count(std::string_view text, Matcher::Span lines)
{
    const std::string_view all = text.substr(lines.begin, lines.end - lines.begin);
    return 1 + static_cast<std::uint64_t>(std::count(all.begin(), all.end(), '\n'));
}

} // namespace berth::guest::search

#pragma once

#include "sandbox/guest/search/matcher.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace berth::guest::search {

/// Calls `take(Matcher::Span)` for every occurrence on the lines `lines` of `text`, which
/// find_lines() gave. As in ripgrep an empty one right after another does not count, nor one behind
/// a text that ends without a newline. Ends early when the meter is exhausted.
template <class Take>
void for_each_occurrence(const Matcher& matcher, std::string_view text, Matcher::Span lines,
                         ScanMeter& meter, Take&& take)
{
    const std::string_view subject = matcher.multiline() ? text : text.substr(0, lines.end);
    std::size_t last_end = std::string_view::npos;
    for (std::size_t from = lines.begin; from <= lines.end && from <= subject.size();) {
        const auto match = matcher.find(subject, from, meter);
        if (!match || match->begin > lines.end || match->begin == text.size()) {
            return;
        }
        const bool empty = match->begin == match->end;
        if (!empty || match->begin != last_end) {
            take(*match);
        }
        last_end = match->end;
        from = match->end + (empty ? 1 : 0);
    }
}

/// How many lines `lines` are.
[[nodiscard]] inline std::uint64_t line_count(std::string_view text, Matcher::Span lines)
{
    const std::string_view all = text.substr(lines.begin, lines.end - lines.begin);
    return 1 + static_cast<std::uint64_t>(std::count(all.begin(), all.end(), '\n'));
}

} // namespace berth::guest::search

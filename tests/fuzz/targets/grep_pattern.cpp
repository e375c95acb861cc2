// A search, whose shortcuts find what RE2 finds: OPTIONS, a byte ==== PATTERN ==== TEXT.

#include "sandbox/base/error.hpp"
#include "sandbox/guest/search/matcher.hpp"
#include "sandbox/guest/search/newline_patterns.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tools/grep_report.hpp"

#include <re2/re2.h>

#include <optional>
#include <string>
#include <vector>

namespace {

using berth::fuzz::require;
using berth::guest::search::Matcher;
using berth::guest::search::MatcherOptions;
using berth::guest::search::ScanMeter;

/// The first byte of each line with a match; nothing where it was too much work.
std::optional<std::vector<std::size_t>> found_lines(const Matcher& matcher, std::string_view text,
                                                    ScanMeter& meter)
{
    meter.begin_block();
    std::vector<std::size_t> lines;
    for (std::size_t from = 0; from < text.size();) {
        const auto line = matcher.find_lines(text, from, meter);
        if (!line) {
            break;
        }
        require(line->begin >= from && line->begin <= line->end && line->end <= text.size(),
                "a match is within what is searched");
        lines.push_back(line->begin);
        from = line->end + 1;
    }
    return meter.exhausted() ? std::nullopt : std::optional(lines);
}

std::vector<std::size_t> expected_lines(const re2::RE2& regex, std::string_view text)
{
    std::vector<std::size_t> lines;
    berth::fuzz::each_line(text, [&](std::string_view line) {
        if (regex.Match({line.data(), line.size()}, 0, line.size(), re2::RE2::UNANCHORED, nullptr,
                        0)) {
            lines.push_back(static_cast<std::size_t>(line.data() - text.data()));
        }
    });
    return lines;
}

void walk_spans(const Matcher& matcher, std::string_view text, ScanMeter& meter)
{
    meter.begin_block();
    for (std::size_t from = 0; from <= text.size();) {
        const auto span = matcher.find(text, from, meter);
        if (!span) {
            return;
        }
        require(span->begin >= from && span->begin <= span->end && span->end <= text.size(),
                "a match is within what is searched");
        from = span->end + (span->end == span->begin ? 1 : 0);
    }
}

} // namespace

BERTH_FUZZ_TARGET(grep_pattern)
{
    constexpr std::size_t longest_text = 4096; // whose searches are compared one by one
    const auto [byte, pattern, rest] = berth::fuzz::parts_of<3>(input);
    const auto text = rest.substr(0, longest_text);
    const unsigned set = berth::fuzz::byte_at(byte, 0);
    const MatcherOptions options{.fixed = (set & 1U) != 0,
                                 .ignore_case = (set & 2U) != 0,
                                 .multiline = (set & 4U) != 0,
                                 .small = (set & 8U) != 0};
    std::optional<Matcher> matcher;
    try {
        matcher.emplace(pattern, options);
    } catch (const berth::Error& error) {
        require(error.code() == berth::ErrorCode::invalid_argument, "the pattern is wrong");
        return;
    }
    if (!options.fixed) {
        (void)berth::guest::search::can_match_newline(pattern);
        (void)berth::tools::dot_stops_at_newline(pattern);
    }
    berth::guest::search::SearchLimits limits({}, 1000);
    ScanMeter meter(limits);
    if (options.multiline) {
        (void)found_lines(*matcher, text, meter);
        walk_spans(*matcher, text, meter);
        return;
    }
    re2::RE2::Options plain;
    plain.set_log_errors(false);
    plain.set_never_nl(true);
    plain.set_literal(options.fixed);
    plain.set_case_sensitive(!options.ignore_case);
    const re2::RE2 regex((options.fixed ? "" : "(?m)") + std::string(pattern), plain);
    const auto lines = found_lines(*matcher, text, meter);
    require(!lines || !regex.ok() || *lines == expected_lines(regex, text),
            "lines are found by whatever shortcut");
    berth::fuzz::each_line(text, [&](std::string_view line) { walk_spans(*matcher, line, meter); });
}

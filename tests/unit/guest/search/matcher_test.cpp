#include "sandbox/guest/search/matcher.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

using berth::guest::search::Matcher;
using berth::guest::search::ScanMeter;
using berth::guest::search::SearchLimits;

namespace {

/// The numbers of the lines with a match.
std::string found(std::string_view pattern, std::string_view text)
{
    const Matcher matcher(pattern, {});
    SearchLimits limits({}, 0);
    ScanMeter meter(limits);
    meter.begin_block();
    std::string lines;
    std::size_t from = 0;
    for (int number = 1; from < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        const auto line = matcher.find_lines(text, from, meter);
        lines += line && line->begin == from ? std::to_string(number) : "";
        from = end + 1;
    }
    return lines;
}

} // namespace

TEST_CASE("of what is no match over lines, a line is all the text that there is")
{
    constexpr std::string_view text = "ab\nab\n\nabc\nxab";
    for (const auto* pattern : {R"(\Aab)", R"(\Aa.)", "(?-m)^a.", "(?i-m:^)a."}) {
        CAPTURE(pattern);
        CHECK(found(pattern, text) == "124");
    }
    for (const auto* pattern : {R"(b\z)", R"([b]\z)", "(?-m)[b]$"}) {
        CAPTURE(pattern);
        CHECK(found(pattern, text) == "125");
    }
    CHECK(found(R"(^$|\Axab\z)", text) == "35");
}

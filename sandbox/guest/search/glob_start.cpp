#include "sandbox/guest/search/glob_start.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/glob_pattern.hpp"
#include "sandbox/base/npos.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace berth::guest::search {
namespace {

/// How it begins where it does not begin where it is looked from; empty: it does.
std::string_view start_of(std::string_view pattern)
{
    static constexpr std::array<std::string_view, 3> starts = {"/", "~/", "../"};
    const auto* const found = std::ranges::find_if(
        starts, [&](std::string_view start) { return pattern.starts_with(start); });
    return found == starts.end() ? std::string_view() : *found;
}

/// Behind what stands at `at`: an escape, a set, or a byte.
std::size_t behind_unit(std::string_view text, std::size_t at)
{
    const std::size_t set = text[at] == '[' ? set_end(text, at) : npos;
    return text[at] == '\\' ? std::min(at + 2, text.size()) : set == npos ? at + 1 : set;
}

/// Up to a slash, which no alternative ends with; not one within a set.
std::size_t common_directory(const std::vector<std::string>& alternatives)
{
    std::string_view common = alternatives.front();
    for (const std::string_view each : alternatives) {
        const auto differ = std::ranges::mismatch(common, each).in1;
        common = common.substr(0, static_cast<std::size_t>(differ - common.begin()));
    }
    const std::string_view first = alternatives.front();
    std::size_t shared = 0;
    for (std::size_t at = 0; at < common.size(); at = behind_unit(first, at)) {
        shared = common[at] == '/' ? at + 1 : shared;
    }
    return shared;
}

/// A comma outside of braces stands for itself, and must go on doing so within them.
std::string with_literal_commas(std::string_view text)
{
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = behind_unit(text, at);
        result += text[at] == ',' ? "\\" : "";
        result += text.substr(at, next - at);
        at = next;
    }
    return result;
}

} // namespace

std::string with_common_start(std::string_view pattern)
{
    if (pattern.find('{') == npos || !start_of(pattern).empty()) {
        return std::string(pattern);
    }
    const auto alternatives = expand_braces(pattern);
    const auto start = start_of(alternatives.front());
    if (!std::ranges::all_of(alternatives,
                             [&](const auto& each) { return start_of(each) == start; })) {
        throw Error(ErrorCode::invalid_argument,
                    "bad glob pattern: its alternatives begin in different places",
                    "begin each of them with a slash, or none; or make one call for each");
    }
    if (start.empty()) {
        return std::string(pattern);
    }
    const std::size_t shared = common_directory(alternatives);
    std::string result = alternatives.front().substr(0, shared);
    char before = '{';
    for (const std::string_view each : alternatives) {
        result += before + with_literal_commas(each.substr(shared));
        before = ',';
    }
    return result + '}';
}

} // namespace berth::guest::search

#include "tools/line_starts.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace berth::tools {
namespace {

constexpr std::size_t longest_path = 4096;

std::vector<std::string_view> lines_of(std::string_view text)
{
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        lines.push_back(take_line(text));
    }
    return lines;
}

bool is_separator(char character) noexcept
{
    return character == ':' || character == '-';
}

struct Number {
    std::int64_t value = 0;
    std::size_t end = 0; ///< behind what ends it
};

/// At a place in a line, with the character that berth puts behind it.
std::optional<Number> number_at(std::string_view line, std::size_t at)
{
    const auto rest = line.substr(at);
    Number number;
    const auto [behind, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number.value);
    const auto size = static_cast<std::size_t>(behind - rest.data());
    if (error != std::errc() || size == rest.size()) {
        return std::nullopt;
    }
    const char end = rest[size];
    const bool is_own =
        at > 0 ? number.value >= 0 && end == line[at - 1] : end == '\t' || is_separator(end);
    number.end = at + size + 1;
    return is_own ? std::optional(number) : std::nullopt;
}

/// Sets what is in front of both, where the second is numbered as the one behind the first.
void compare(std::string_view first, std::string_view second, std::size_t& of_first,
             std::size_t& of_second)
{
    const auto most = std::min({first.size(), second.size(), longest_path});
    for (std::size_t at = 0; at < most; ++at) {
        if (at == 0 || (is_separator(first[at - 1]) && is_separator(second[at - 1]))) {
            const auto one = number_at(first, at);
            const auto two = one ? number_at(second, at) : std::nullopt;
            if (two && one->value < two->value && two->value - 1 == one->value) {
                of_first = one->end;
                of_second = two->end;
                return;
            }
        }
        if (at > 0 && first[at - 1] != second[at - 1]) {
            return; // the paths are not the same
        }
    }
}

} // namespace

std::string_view take_line(std::string_view& rest)
{
    const auto end = rest.find('\n');
    const auto line = rest.substr(0, end == std::string_view::npos ? rest.size() : end + 1);
    rest.remove_prefix(line.size());
    return line;
}

LineStarts numbered_starts(std::string_view text)
{
    const auto lines = lines_of(text);
    LineStarts starts(lines.size(), 0);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        compare(lines[i], lines[i + 1], starts[i], starts[i + 1]);
    }
    const bool is_any = std::ranges::any_of(starts, [](std::size_t start) { return start > 0; });
    return is_any ? starts : LineStarts();
}

LineStarts diff_starts(std::string_view text)
{
    if (!text.starts_with("@@ ") && text.find("\n@@ ") == std::string_view::npos) {
        return {};
    }
    LineStarts starts;
    while (!text.empty()) {
        const auto line = take_line(text);
        const bool has_sign = std::string_view(" +-").find(line.front()) != std::string_view::npos;
        starts.push_back(has_sign ? 1 : 0);
    }
    return starts;
}

} // namespace berth::tools

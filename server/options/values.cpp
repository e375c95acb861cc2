#include "server/options/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

namespace berth::server {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array durations = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"min", 60'000},
                                  Unit{"m", 60'000},     Unit{"ms", 1},        Unit{"s", 1000}};
constexpr std::array sizes = {Unit{"GiB", 1024.0 * 1024 * 1024}, Unit{"MiB", 1024.0 * 1024},
                              Unit{"KiB", 1024}, Unit{"B", 1}};

std::string_view trim(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A number, and what follows it.
std::optional<std::pair<double, std::string_view>> split_number(std::string_view text)
{
    text = trim(text);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return std::pair(value, trim(text.substr(static_cast<std::size_t>(end - text.data()))));
}

template <std::size_t count>
std::optional<double> parse_with_unit(std::string_view text, const std::array<Unit, count>& units,
                                      double bare)
{
    const auto number = split_number(text);
    if (!number) {
        return std::nullopt;
    }
    if (number->second.empty()) {
        return number->first * bare;
    }
    for (const auto& unit : units) {
        if (unit.name == number->second) {
            return number->first * unit.factor;
        }
    }
    return std::nullopt;
}

/// In the largest unit that leaves a whole number.
template <std::size_t count>
std::string format_with_unit(double value, const std::array<Unit, count>& units,
                             std::string_view of_zero)
{
    for (const auto& unit : units) {
        if (value != 0 && value >= unit.factor && std::fmod(value, unit.factor) == 0 &&
            unit.name != "m") {
            return format_number(value / unit.factor) + ' ' + std::string(unit.name);
        }
    }
    return format_number(value) + ' ' + std::string(value == 0 ? of_zero : units.back().name);
}

} // namespace

std::optional<double> parse_duration(std::string_view text)
{
    return parse_with_unit(text, durations, 1000);
}

std::optional<double> parse_bytes(std::string_view text)
{
    return parse_with_unit(text, sizes, 1);
}

std::optional<double> parse_number(std::string_view text)
{
    const auto number = split_number(text);
    return number && number->second.empty() ? std::optional(number->first) : std::nullopt;
}

std::optional<bool> parse_boolean(std::string_view text)
{
    constexpr std::array yes = {"true", "1", "yes", "on"};
    constexpr std::array no = {"false", "0", "no", "off"};
    if (std::find(yes.begin(), yes.end(), text) != yes.end()) {
        return true;
    }
    return std::find(no.begin(), no.end(), text) != no.end() ? std::optional(false) : std::nullopt;
}

namespace {

/// Without those that are blank.
std::vector<std::string> split(std::string_view text, char joint)
{
    std::vector<std::string> items;
    for (;;) {
        const auto end = text.find(joint);
        if (const auto item = trim(text.substr(0, end)); !item.empty()) {
            items.emplace_back(item);
        }
        if (end == std::string_view::npos) {
            return items;
        }
        text.remove_prefix(end + 1);
    }
}

} // namespace

std::vector<std::string> split_list(std::string_view text)
{
    return split(text, ',');
}

std::vector<std::string> split_lines(std::string_view text)
{
    return split(text, '\n');
}

std::string format_duration(double milliseconds)
{
    // Without days and "ms" before "s": 12 h rather than 0.5 d, 1500 ms rather than 1.5 s.
    constexpr std::array units = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"min", 60'000},
                                  Unit{"s", 1000}, Unit{"ms", 1}};
    return format_with_unit(milliseconds, units, "s");
}

std::string format_bytes(double bytes)
{
    return format_with_unit(bytes, sizes, "B");
}

std::string format_number(double number)
{
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                   std::abs(number) < 1e15 && std::trunc(number) == number
                                       ? std::chars_format::fixed
                                       : std::chars_format::general)
                         .ptr;
    return {text.data(), end};
}

} // namespace berth::server

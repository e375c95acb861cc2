#include "tools/render.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <string.h>

namespace berth::tools {
namespace {

/// One digit after the point while it says something: 1.2, 34.5, 678.
std::string short_decimal(double value)
{
    constexpr double point_until = 100.0;
    std::array<char, 32> buffer{};
    const int size =
        std::snprintf(buffer.data(), buffer.size(), value < point_until ? "%.1f" : "%.0f", value);
    return {buffer.data(), static_cast<std::size_t>(size)};
}

char printable(char c)
{
    return c >= ' ' && c <= '~' ? c : '.';
}

std::string hex(unsigned value, int digits)
{
    std::array<char, 16> buffer{};
    const int size = std::snprintf(buffer.data(), buffer.size(), "%0*x", digits, value);
    return {buffer.data(), static_cast<std::size_t>(size)};
}

} // namespace

std::string thousands(std::uint64_t number)
{
    std::string digits = std::to_string(number);
    for (auto at = digits.size(); at > 3; at -= 3) {
        digits.insert(at - 3, 1, ',');
    }
    return digits;
}

std::string counted(std::uint64_t number, std::string_view noun)
{
    std::string text = thousands(number) + ' ' + std::string(noun);
    if (number == 1) {
        return text;
    }
    if (noun.ends_with("ch") || noun.ends_with("s")) {
        return text + "es";
    }
    if (noun.ends_with("ry")) {
        text.pop_back();
        return text + "ies";
    }
    return text + "s";
}

std::string human_bytes(std::uint64_t bytes)
{
    constexpr std::uint64_t step = 1000;
    if (bytes < step) {
        return counted(bytes, "byte");
    }
    constexpr std::array units = {"KB", "MB", "GB", "TB", "PB", "EB"};
    double value = static_cast<double>(bytes) / step;
    std::size_t unit = 0;
    // 999.5 would be printed as 1000
    constexpr double rounds_up = 999.5;
    while (value >= rounds_up && unit + 1 < units.size()) {
        value /= step;
        ++unit;
    }
    return short_decimal(value) + ' ' + units.at(unit);
}

std::string limit_bytes(std::uint64_t bytes)
{
    constexpr std::uint64_t mebibyte = 1024ULL * 1024;
    if (bytes % (1024 * mebibyte) == 0) {
        return std::to_string(bytes / (1024 * mebibyte)) + " GiB";
    }
    return bytes % mebibyte == 0 ? std::to_string(bytes / mebibyte) + " MiB" : human_bytes(bytes);
}

std::string human_duration(std::chrono::milliseconds duration)
{
    constexpr std::int64_t second = 1000;
    constexpr std::int64_t minute = 60 * second;
    const std::int64_t ms = std::max<std::int64_t>(duration.count(), 0);
    if (ms < second) {
        return std::to_string(ms) + " ms";
    }
    if (ms < 2 * minute) {
        return short_decimal(static_cast<double>(ms) / second) + " s";
    }
    return thousands(static_cast<std::uint64_t>(ms / minute)) + " min " +
           std::to_string(ms % minute / second) + " s";
}

std::string rough_duration(std::chrono::milliseconds duration)
{
    using std::chrono::hours;
    using std::chrono::minutes;
    using std::chrono::seconds;
    // A unit is used from twice of it on: "90 s" rather than "2 min".
    if (duration < minutes(2)) {
        return std::to_string(std::chrono::round<seconds>(duration).count()) + " s";
    }
    if (duration < hours(2) - minutes(1)) {
        return std::to_string(std::chrono::round<minutes>(duration).count()) + " min";
    }
    return thousands(static_cast<std::uint64_t>(std::chrono::round<hours>(duration).count())) +
           " h";
}

std::string signal_name(int number)
{
    const char* name = ::sigabbrev_np(number);
    return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

std::string hexdump(std::string_view bytes)
{
    constexpr std::size_t width = 16;
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += width) {
        const auto row = bytes.substr(at, width);
        text += hex(static_cast<unsigned>(at), 8) + ' ';
        for (std::size_t i = 0; i < width; ++i) {
            text += i % 8 == 0 ? " " : "";
            text += i < row.size() ? hex(static_cast<unsigned char>(row[i]), 2) + ' ' : "   ";
        }
        text += " |";
        std::transform(row.begin(), row.end(), std::back_inserter(text), printable);
        text += "|\n";
    }
    return text;
}

std::string short_hash(std::string_view before, std::string_view sha256)
{
    constexpr std::size_t digits = 12;
    if (sha256.empty()) {
        return {};
    }
    std::string text(before);
    return text.append("sha256 ").append(sha256.substr(0, digits));
}

std::string status_line(const std::vector<std::string>& parts)
{
    std::string text;
    for (const auto& part : parts) {
        if (!part.empty()) {
            text += (text.empty() ? "[" : " · ") + part;
        }
    }
    return text.empty() ? text : text + "]";
}

} // namespace berth::tools

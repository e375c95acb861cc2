#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::fuzz {

/// What is between the parts of an input, so that a seed can be written and read by people.
inline constexpr std::string_view part_mark = "====\n";

/// The parts of an input; the last one has the rest, missing ones are empty.
template <std::size_t Count>
[[nodiscard]] std::array<std::string_view, Count> parts_of(std::string_view input)
{
    std::array<std::string_view, Count> parts;
    for (std::size_t i = 0; i < Count; ++i) {
        const auto mark = i + 1 < Count ? input.find(part_mark) : std::string_view::npos;
        parts[i] = input.substr(0, mark);
        input.remove_prefix(mark == std::string_view::npos ? input.size()
                                                           : mark + part_mark.size());
    }
    return parts;
}

/// Calls `take(line)` for each line, without its newline.
template <class Take>
void each_line(std::string_view text, Take take)
{
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        take(line);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
}

/// Calls `take(piece)` for the pieces of `text`, as a stream would bring it: short ones and long
/// ones, the same for the same text.
template <class Take>
void each_piece(std::string_view text, Take take)
{
    std::uint64_t state = text.size() + 1;
    while (!text.empty()) {
        state = state * 6364136223846793005ULL + static_cast<unsigned char>(text.front());
        const std::size_t longest = (state >> 60U) == 0 ? 4096 : 1 + ((state >> 58U) & 15U);
        const auto piece = text.substr(0, 1 + (state >> 33U) % longest);
        take(piece);
        text.remove_prefix(piece.size());
    }
}

/// A byte of a part, 0 where there is none.
[[nodiscard]] inline std::uint8_t byte_at(std::string_view part, std::size_t at)
{
    return at < part.size() ? static_cast<std::uint8_t>(part[at]) : std::uint8_t{0};
}

} // namespace berth::fuzz

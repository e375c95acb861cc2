// Many strings looked for at once: FOLD, a byte ==== a string on each line ==== TEXT.

#include "sandbox/guest/search/literal_set.hpp"

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using berth::fuzz::require;

bool is_at(std::string_view text, std::size_t at, std::string_view literal, bool fold)
{
    const auto lower = [fold](char c) {
        return fold && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    };
    return std::ranges::equal(text.substr(at, literal.size()), literal, {}, lower, lower);
}

/// The first place of any of them.
std::size_t first_of(std::string_view text, std::size_t from,
                     const std::vector<std::string>& literals, bool fold)
{
    for (std::size_t at = from; at < text.size(); ++at) {
        for (const auto& literal : literals) {
            if (is_at(text, at, literal, fold)) {
                return at;
            }
        }
    }
    return std::string_view::npos;
}

std::size_t line_of(std::string_view text, std::size_t at)
{
    return static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n'));
}

} // namespace

BERTH_FUZZ_TARGET(literal_set)
{
    constexpr std::size_t longest_text = 4096; // in which the plainest search is quick enough
    const auto [byte, strings, rest] = berth::fuzz::parts_of<3>(input);
    const auto text = rest.substr(0, longest_text);
    const bool fold = (berth::fuzz::byte_at(byte, 0) & 1U) != 0;
    std::vector<std::string> literals;
    berth::fuzz::each_line(strings, [&](std::string_view line) {
        if (!line.empty() && literals.size() < berth::guest::search::LiteralSet::max_size) {
            literals.emplace_back(line);
        }
    });
    if (literals.empty()) {
        return;
    }
    const berth::guest::search::LiteralSet set(literals, fold);
    constexpr int most_finds = 50;
    std::size_t from = 0;
    for (int i = 0; i < most_finds && from <= text.size(); ++i) {
        const auto hit = set.find(text, from);
        const auto first = first_of(text, from, literals, fold);
        require(static_cast<bool>(hit) == (first != std::string_view::npos),
                "what is there is found");
        if (!hit) {
            return;
        }
        require(hit.at >= from && std::ranges::any_of(literals,
                                                      [&](const std::string& literal) {
                                                          return literal.size() == hit.size &&
                                                                 is_at(text, hit.at, literal, fold);
                                                      }),
                "what is found is there");
        require(literals.size() > 1 ? line_of(text, hit.at) == line_of(text, first)
                                    : hit.at == first,
                "the first line that has one");
        from = hit.at + 1;
    }
}

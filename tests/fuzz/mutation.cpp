#include "tests/fuzz/mutation.hpp"

#include <algorithm>
#include <string_view>

namespace berth::fuzz {
namespace {

using namespace std::string_view_literals; // one of the bytes is a NUL

/// What parsers give a meaning to, and where numbers and encodings end.
constexpr std::string_view telling = "\0\xff\x7f\x80\xc3\xed\n\r\t */\\[]{}!\"'-+@#:=,.019"sv;

} // namespace

std::size_t Mutation::below(std::size_t bound) noexcept
{
    state_ += 0x9e3779b97f4a7c15ULL; // splitmix64
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
    return static_cast<std::size_t>(mixed ^ (mixed >> 31U)) % std::max<std::size_t>(bound, 1);
}

void Mutation::change(std::string& input, const std::vector<std::string>& others)
{
    constexpr std::size_t longest = 64;
    const std::size_t at = below(input.size() + 1);
    const std::size_t size = below(std::min(input.size() - at, longest) + 1);
    switch (below(7)) {
    case 0:
        if (at < input.size()) {
            input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        }
        break;
    case 1:
        input.replace(at, at < input.size() ? 1 : 0, 1, telling[below(telling.size())]);
        break;
    case 2:
        input.insert(at, 1 + below(3), telling[below(telling.size())]);
        break;
    case 3:
        input.erase(at, size);
        break;
    case 4: // again, somewhere
        input.insert(below(input.size() + 1), std::string(input.substr(at, size)));
        break;
    case 5:
        input.resize(at);
        break;
    default:
        if (!others.empty()) {
            const std::string& other = others[below(others.size())];
            const std::size_t from = below(other.size() + 1);
            input.insert(at, other, from, below(longest) + 1);
        }
        break;
    }
}

std::string Mutation::of(std::string input, const std::vector<std::string>& others,
                         std::size_t largest)
{
    for (std::size_t left = 1 + below(4); left > 0; --left) {
        change(input, others);
        input.resize(std::min(input.size(), largest));
    }
    return input;
}

} // namespace berth::fuzz

#include "sandbox/base/base64.hpp"
#include "sandbox/protocol/opening.hpp"
#include "sandbox/protocol/opening_variables.hpp"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

using berth::base64_encode;
using berth::protocol::longest_opening_in_variables;
using berth::protocol::most_opening_pieces;
using berth::protocol::open_opening;
using berth::protocol::opening_in_variables;
using berth::protocol::opening_key;
using berth::protocol::opening_overhead;
using berth::protocol::opening_piece;
using berth::protocol::opening_variables;
using berth::protocol::seal_opening;

namespace {

using Variables = std::map<std::string, std::string>;

std::optional<std::string> taken_from(const Variables& variables)
{
    return opening_in_variables([&](const std::string& name) -> std::optional<std::string_view> {
        const auto found = variables.find(name);
        return found != variables.end() ? std::optional<std::string_view>(found->second)
                                        : std::nullopt;
    });
}

std::string sample(std::size_t size)
{
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) {
        bytes += static_cast<char>(i * 13 + i / 255);
    }
    return bytes;
}

} // namespace

TEST_CASE("an opening goes through an environment to the byte, in as few variables as it needs")
{
    for (const auto& [size, count] : std::initializer_list<std::pair<std::size_t, std::size_t>>{
             {1, 1},
             {opening_piece - 1, 1},
             {opening_piece, 1},
             {opening_piece + 1, 2},
             {3 * opening_piece, 3},
             {longest_opening_in_variables, 4}}) {
        CAPTURE(size);
        const auto sealed = sample(size);
        auto variables = opening_variables(sealed);
        REQUIRE(variables);
        CHECK(variables->size() == count);
        for (const auto& [name, value] : *variables) {
            CHECK(name.size() + 1 + value.size() + 1 <= 131'072); // what the kernel takes of one
        }
        variables->emplace("PATH", "/usr/bin");
        CHECK((taken_from(*variables) == sealed));
    }
    CHECK_FALSE(opening_variables(""));
    CHECK_FALSE(opening_variables(sample(longest_opening_in_variables + 1)));
}

TEST_CASE("an environment without an opening, or with what is none, gives none")
{
    CHECK_FALSE(taken_from({}));
    CHECK_FALSE(taken_from({{"PATH", "/usr/bin"}}));
    CHECK_FALSE(taken_from({{"BERTH_OPENING_0", ""}}));
    CHECK_FALSE(taken_from({{"BERTH_OPENING_0", "no base64!"}}));
    CHECK_FALSE(taken_from({{"BERTH_OPENING_1", base64_encode("x")}}));
    CHECK_FALSE(taken_from({{"BERTH_OPENING_0", base64_encode(sample(opening_piece + 1))}}));
    // A piece behind one that is not full was put there by somebody else.
    CHECK_FALSE(taken_from(
        {{"BERTH_OPENING_0", base64_encode("x")}, {"BERTH_OPENING_1", base64_encode("y")}}));
}

TEST_CASE("an opening whose pieces are missing, twice or in another order cannot be opened")
{
    const auto key = opening_key("token");
    const auto sealed =
        seal_opening(key, "g", sample(longest_opening_in_variables - opening_overhead));
    const auto variables = opening_variables(sealed).value();
    REQUIRE(variables.size() == most_opening_pieces);
    const auto opens = [&](const Variables& with) {
        const auto taken = taken_from(with);
        return taken && open_opening(key, "g", *taken);
    };
    CHECK(opens(variables));
    for (const auto& [name, value] : variables) {
        auto less = variables;
        less.erase(name);
        CHECK_FALSE(opens(less));
        for (const auto& [other, other_value] : variables) {
            auto changed = variables;
            changed[other] = value;
            CHECK(opens(changed) == (name == other));
            changed[name] = other_value; // one in place of the other
            CHECK(opens(changed) == (name == other));
        }
    }
}

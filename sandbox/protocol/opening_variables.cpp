#include "sandbox/protocol/opening_variables.hpp"

#include "sandbox/base/base64.hpp"

#include <utility>

namespace berth::protocol {
namespace {

/// Linux, MAX_ARG_STRLEN: NAME=VALUE with the zero at its end.
constexpr std::size_t longest_variable = 131'072;
constexpr std::size_t longest_value = (opening_piece + 2) / 3 * 4;
static_assert(sizeof "BERTH_OPENING_0=" + longest_value <= longest_variable);
static_assert(most_opening_pieces <= 10, "its number is one digit");

std::string name_of(std::size_t piece)
{
    return "BERTH_OPENING_" + std::to_string(piece);
}

} // namespace

std::optional<std::map<std::string, std::string>> opening_variables(std::string_view sealed)
{
    if (sealed.empty() || sealed.size() > longest_opening_in_variables) {
        return std::nullopt;
    }
    std::map<std::string, std::string> variables;
    while (!sealed.empty()) {
        const auto piece = sealed.substr(0, opening_piece);
        variables.emplace(name_of(variables.size()), base64_encode(piece));
        sealed.remove_prefix(piece.size());
    }
    return variables;
}

std::optional<std::string> opening_in_variables(
    const std::function<std::optional<std::string_view>(const std::string& name)>& value)
{
    std::string sealed;
    for (std::size_t piece = 0; piece < most_opening_pieces; ++piece) {
        const auto text = value(name_of(piece));
        if (!text) {
            break;
        }
        const auto bytes = base64_decode(*text);
        // Each but the last is full: in no other way were they made.
        if (!bytes || bytes->empty() || bytes->size() > opening_piece ||
            sealed.size() != piece * opening_piece) {
            return std::nullopt;
        }
        sealed += *bytes;
    }
    return sealed.empty() ? std::nullopt : std::optional(std::move(sealed));
}

} // namespace berth::protocol

#include "sandbox/guest/exec/environment.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace berth::guest {
namespace {

std::string_view until_zero(const std::string& text)
{
    return std::string_view(text).substr(0, text.find('\0'));
}

std::string next(std::string_view& rest)
{
    const std::size_t end = rest.find('\0');
    std::string text(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    return text;
}

} // namespace

Environment::Environment(const Variables& variables)
{
    std::size_t size = 0;
    for (const auto& [name, value] : variables) {
        size += name.size() + value.size() + 2;
    }
    text_.reserve(size);
    for (const auto& [name, value] : variables) {
        text_.append(until_zero(name)).append(1, '\0').append(until_zero(value)).append(1, '\0');
    }
}

Environment::Variables Environment::variables() const
{
    Variables variables;
    for (std::string_view rest = text_; !rest.empty();) {
        auto name = next(rest);
        variables.insert_or_assign(std::move(name), next(rest));
    }
    return variables;
}

} // namespace berth::guest

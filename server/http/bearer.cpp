#include "server/http/bearer.hpp"

#include "sandbox/base/small_letters.hpp"

namespace berth::server::http {

std::optional<std::string_view> bearer_token(const transport::HttpHead& head)
{
    constexpr std::string_view scheme = "bearer ";
    const auto* const value = head.find("authorization");
    if (value == nullptr || value->size() <= scheme.size()) {
        return std::nullopt;
    }
    const bool is_bearer = in_small_letters(value->substr(0, scheme.size())) == scheme;
    return is_bearer ? std::optional(std::string_view(*value).substr(scheme.size())) : std::nullopt;
}

} // namespace berth::server::http

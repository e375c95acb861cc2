#include "sandbox/e2b/query.hpp"

#include "sandbox/base/percent.hpp"

#include <string_view>

namespace berth::e2b {
namespace {

/// What encodeURIComponent of JavaScript leaves, and the official clients with it.
constexpr std::string_view component = "-_.!~*'()";
/// What the form encoding leaves.
constexpr std::string_view form = "*-._";

} // namespace

std::string metadata_query(const Metadata& metadata)
{
    std::string pairs;
    for (const auto& [key, value] : metadata) {
        pairs += (pairs.empty() ? "" : "&") +
                 percent_encoded(percent_encoded(key, component), form) + '=' +
                 percent_encoded(percent_encoded(value, component), form);
    }
    return percent_encoded(pairs);
}

} // namespace berth::e2b

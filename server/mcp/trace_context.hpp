#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace berth::mcp {

/// Whether it is a `traceparent` by the W3C's Trace Context: of version 00 exactly, of a later one
/// as far as it begins like it. What is none says nothing, and is passed on to nobody.
[[nodiscard]] bool is_traceparent(std::string_view text) noexcept;

/// That of a request's `_meta`; empty where there is none that is one.
[[nodiscard]] std::string traceparent_of(const nlohmann::json& params);

/// Puts that of a transport's own (a header) into `_meta` where the request brings none itself.
/// `params`: an object. What is no traceparent is left out.
void add_traceparent(nlohmann::json& params, const std::string& traceparent);

} // namespace berth::mcp

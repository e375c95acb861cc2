#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace berth::tools::test {

/// What is wrong with `value` by the JSON Schema `schema`; empty when nothing is.
[[nodiscard]] std::string schema_complaint(std::string_view schema, const nlohmann::json& value);

} // namespace berth::tools::test

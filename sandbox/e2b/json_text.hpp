#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace berth::e2b {

/// What a server wrote, parsed; nothing where it is no JSON, or nested deeper than 32: a document
/// of brackets alone is parsed in no time and ends the program when it is copied.
[[nodiscard]] std::optional<nlohmann::json> parse_json(std::string_view text);

/// On one line. Never throws for a text that is not UTF-8: that is replaced.
[[nodiscard]] std::string json_text(const nlohmann::json& value);

/// A member that is a string; empty where it is none or another thing, as `null` is.
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* key);

} // namespace berth::e2b

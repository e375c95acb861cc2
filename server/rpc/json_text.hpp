#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::rpc {

/// Appends `text` as a JSON string, control characters (C0, DEL, C1) escaped: whoever shows it on a
/// terminal is safe. `text` must be valid UTF-8. Large bodies go this way rather than through a
/// document: one pass, one copy.
void append_quoted(std::string& out, std::string_view text);

/// How many bytes append_quoted() appends of it.
[[nodiscard]] std::size_t quoted_size(std::string_view text);

/// One line of JSON; what is not UTF-8 becomes U+FFFD instead of an exception.
[[nodiscard]] std::string to_text(const nlohmann::json& value);

/// A member that is a string; empty where it is none, or another thing.
[[nodiscard]] std::string text_member(const nlohmann::json& object, const std::string& name);

} // namespace berth::rpc

#pragma once

#include "server/transport/http_head.hpp"

#include <optional>
#include <string_view>

namespace berth::server::http {

/// The token of `Authorization: Bearer TOKEN`; nothing: there is none. It points into the head.
[[nodiscard]] std::optional<std::string_view> bearer_token(const transport::HttpHead& head);

} // namespace berth::server::http

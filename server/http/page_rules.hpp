#pragma once

#include "server/transport/http_message.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What browsers ask and are told for web pages of another origin (CORS): without it they neither
// send a page's requests nor let it read the answers. Who may is HostRules' to say.

namespace berth::server::http {

/// Whether a browser asks what a page may send, before it does. It never shows a token with that.
[[nodiscard]] bool is_preflight(const transport::HttpHead& head);

/// The answer, for a page that may. `methods`: those of the path.
[[nodiscard]] transport::HttpAnswer answer_preflight(const transport::HttpHead& head,
                                                     std::string_view methods);

/// Of each answer that a page may read. `origin`: of HostRules; empty: it is no page that asks. No
/// leave to send cookies or the like: a page has to have a token of its own.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
page_fields(const std::string& origin);

} // namespace berth::server::http

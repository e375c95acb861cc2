#pragma once

#include "server/transport/http_head.hpp"

#include <string>

namespace berth::server::http {

/// What an operator asks for, as the target of his request says it (docs/http.md).
struct OperatorRequest {
    enum class What : unsigned char { list, show, pause, resume, end, status, metrics };

    What what = What::list;
    std::string key;       ///< of a session
    std::string principal; ///< whose name `key` is then; empty: it is as the list shows it
    std::string backend;   ///< empty: the server's own
    bool purge = false;
    bool save = true;
};

/// Whether the operator's API is at that path, whatever is there.
[[nodiscard]] bool is_operators_path(std::string_view path) noexcept;

/// Throws transport::HttpError: 400 for what cannot be understood, 404 for what there is not, 405
/// for a method that is not of that path (allowed_methods() has those that are).
[[nodiscard]] OperatorRequest read_operator_request(const transport::HttpHead& head);

/// Of a path that there is, as the field Allow has them; else empty.
[[nodiscard]] std::string allowed_methods(std::string_view path);

} // namespace berth::server::http

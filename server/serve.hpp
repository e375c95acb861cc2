#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "server/application.hpp"
#include "server/audit/audit_log.hpp"

#include <memory>
#include <stop_token>

namespace berth::server {

/// MCP on standard input and output until the client goes or a signal comes, then at most a second
/// (time_to_end()) to end what is in flight. Does not return: threads that hang in a call must not
/// keep a server that nobody talks to. Exit status 0, also after SIGTERM and SIGINT; 1 where an
/// answer could not be written, as on a full disk. `audit`: which is closed at the end; null: there
/// is none.
[[noreturn]] void serve_stdio(Application& application, const std::shared_ptr<AuditLog>& audit);

/// The same on any pair of descriptors, until `input` ends; returns when every call is answered. A
/// request to `stop` ends the calls in flight, which are still answered, and nothing else.
void serve(Application& application, UniqueFd input, UniqueFd output, const std::stop_token& stop);

} // namespace berth::server

#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "server/application.hpp"

#include <stop_token>

namespace berth::server {

/// MCP on standard input and output until the client goes or a signal comes, then at most a second
/// (time_to_end()) to end what is in flight. Does not return: threads that hang in a call must not keep a server
/// that nobody talks to. Exit status 0, also after SIGTERM and SIGINT; 1 where an answer could not
/// be written, as on a full disk.
[[noreturn]] void serve_stdio(Application& application);

/// The same on any pair of descriptors, until `input` ends; returns when every call is answered. A
/// request to `stop` ends the calls in flight, which are still answered, and nothing else.
void serve(Application& application, UniqueFd input, UniqueFd output, const std::stop_token& stop);

} // namespace berth::server

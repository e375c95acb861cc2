#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "server/application.hpp"

namespace berth::server {

/// MCP on standard input and output until the client goes or a signal comes, then at most a second
/// to end what is in flight. Does not return: threads that hang in a call must not keep a server
/// that nobody talks to. Exit status 0, also after SIGTERM and SIGINT; 1 where an answer could not
/// be written, as on a full disk.
[[noreturn]] void serve_stdio(Application& application);

/// The same on any pair of descriptors, until `input` ends; returns when every call is answered.
void serve(Application& application, UniqueFd input, UniqueFd output);

} // namespace berth::server

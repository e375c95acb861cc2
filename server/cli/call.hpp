#pragma once

#include "server/application.hpp"

#include <optional>
#include <string>

namespace berth::server::cli {

/// One tool call through the same transport and dispatcher as a client's. `arguments` is JSON text;
/// where none was given, and the tool needs some, an example is shown. Prints the tool's text, or
/// with `json` the whole result. Returns the exit status: 0, 1 for a tool that failed, 2 for
/// arguments that are no JSON object, 128 + n after signal n: SIGINT, SIGTERM and SIGHUP cancel the
/// call, and what it ran is stopped.
[[nodiscard]] int call(Application& application, const std::string& tool,
                       const std::optional<std::string>& arguments, bool json);

} // namespace berth::server::cli

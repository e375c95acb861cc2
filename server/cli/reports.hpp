#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/app.hpp"
#include "server/cli/outcome.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::server::cli {

// The commands that only look, or act on the books. Each prints for people, or with `json` for
// programs, and returns the exit status.

/// What keeps the books from knowing which sessions there are: they have lost their data or were
/// restarted a moment ago, and their servers and hosts write again what they know.
struct Unsettled {
    std::int64_t seconds = 0; ///< in how many it is known; 0: it is
    std::string reason;       ///< why nothing is said of a session, or of all, where it is not
    std::string remedy;
    /// Those that are known to this host and that the books cannot be told of: why, and what to
    /// do. Nobody waits for them.
    std::string unrestored;
};

/// Why a session is not found, which may be one of those.
[[nodiscard]] std::string with_unrestored(const std::string& reason, const Unsettled& unsettled);

/// What is shown shall not be what dead servers have left: clears that away, for two seconds at
/// most.
[[nodiscard]] Unsettled collect_leftovers(session::SessionManager& sessions);

[[nodiscard]] int show_config(const Options& options, bool json);
/// Key, origin and value of each; a long list goes over several lines.
[[nodiscard]] std::string config_text(const std::vector<Setting>& settings);
[[nodiscard]] int show_version(bool json);
/// `of`: of which principal alone; nothing: of all.
[[nodiscard]] Outcome list_sessions(session::SessionManager& sessions,
                                    const std::optional<std::string>& of = std::nullopt);
/// For programs; what list_sessions() shows of each.
[[nodiscard]] nlohmann::json session_json(const session::SessionFacts& facts);

/// Of sessions that have that name, but were made with another template of the key, tells which
/// `command` KEY `rest` reaches them. Not done unasked: whose they are, the template has kept
/// apart.
[[nodiscard]] std::string advice_on_missing(session::SessionManager& sessions,
                                            const session::SessionId& id,
                                            const std::string& command,
                                            const std::string& rest = {});

/// The same for who asks the operator's API.
[[nodiscard]] std::string advice_over_http(session::SessionManager& sessions,
                                           const session::SessionId& id);

/// 1 when no sandbox can be made.
[[nodiscard]] int show_checks(const std::vector<Check>& checks,
                              const sandbox::Availability& availability, bool json);

/// What of `required` is not in force, with the remedy; empty when all is well.
[[nodiscard]] std::string missing_layers(const std::vector<std::string>& required,
                                         const std::vector<Check>& checks);

} // namespace berth::server::cli

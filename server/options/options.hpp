#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/options/layers.hpp"
#include "server/options/session_key.hpp"
#include "server/options/toml_file.hpp"
#include "server/rpc/dispatcher.hpp"
#include "tools/dialect.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth::server {

/// What was decided for this run. Never changed after it was made.
struct Options {
    std::string backend;
    std::string profile; ///< the name of the one in force
    KeyTemplate keys;    ///< which session a name means
    session::SessionId session;
    session::Settings sessions; ///< state directory, mounts, network, limits ...
    tools::Settings tools;
    std::string workspace; ///< a directory
    std::chrono::milliseconds e2b_lease{0};
    const tools::Dialect* dialect = nullptr; ///< of the tools; null: berth's own
    std::vector<std::string> served_tools;   ///< by either name; empty: all
    bool read_only = false;
    std::vector<std::string> required_layers;
    std::size_t message_limit = 0; ///< bytes
    rpc::DispatcherLimits rpc;
    std::string log_level;
    std::string log_format;
    std::vector<Setting> settings; ///< every key, sorted
    /// Every key as it was written, for Given::kept. There may be a password in it.
    std::map<std::string, RawValue> written;
};

/// What the command line gave: by key of the table, and what is not a setting.
struct Given {
    std::map<std::string, RawValue> values;
    std::optional<std::string> session;
    std::string config_file;
    /// Claude Code names its session in the environment of the servers it starts. A one-off
    /// `berth call` from its shell must not step into that session by accident.
    bool session_of_claude_code = false;
    /// By key of the table: these stay as they are, whatever file, flag and variable say now.
    std::map<std::string, RawValue> kept;
    /// Makes no machine: a mount whose folder has gone keeps nobody from looking or cleaning up.
    bool only_looks = false;
};

/// The process's own.
[[nodiscard]] Environment process_environment();

/// Flags, then the environment, the profile, the file, the defaults; what the profile locks before
/// all of them. Throws Error(invalid_argument)
/// that names key, value, allowed range and origin; for an unknown key of the file the nearest one.
[[nodiscard]] Options make_options(const Given& given, const Environment& environment);

} // namespace berth::server

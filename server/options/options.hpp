#pragma once

#include "sandbox/session/key.hpp"
#include "sandbox/session/settings.hpp"
#include "server/options/layers.hpp"
#include "server/options/secret_memory.hpp"
#include "server/options/session_key.hpp"
#include "server/options/toml_file.hpp"
#include "server/rpc/dispatcher.hpp"
#include "tools/dialect.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace berth::server {

/// Whose JWT access tokens are taken over HTTP. Empty `issuer`: nobody's.
struct JwtOptions {
    std::string issuer;
    std::string audience;
    std::string keys;      ///< a file
    std::string principal; ///< the claim

    [[nodiscard]] bool is_wanted() const noexcept { return !issuer.empty(); }
};

/// How a server of HTTP is reached, and who may call it. Empty `address` and `unix_path`: there is
/// none.
struct HttpOptions {
    std::string address; ///< as it was given
    std::string unix_path;
    unsigned unix_mode = 0600;
    std::string token_file;
    std::string operator_token_file; ///< empty: no operator's API
    JwtOptions jwt{};
    bool no_auth = false;
    bool behind_proxy = false;
    bool open_metrics = false; ///< to whoever reaches the server
    std::vector<std::string> hosts;
    std::vector<std::string> origins;
    std::chrono::milliseconds idle{0};
    std::size_t connections = 0;

    [[nodiscard]] bool is_wanted() const noexcept { return !address.empty() || !unix_path.empty(); }
};

/// What is written down of each call.
struct AuditOptions {
    enum class Command : unsigned char { text, hash, none };

    std::string path; ///< empty: nothing is
    Command command = Command::text;
};

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
    std::vector<std::string> e2b_same_account;
    const tools::Dialect* dialect = nullptr; ///< of the tools; null: berth's own
    std::vector<std::string> served_tools;   ///< by either name; empty: all
    bool read_only = false;
    std::vector<std::string> required_layers;
    std::size_t message_limit = 0; ///< bytes
    rpc::DispatcherLimits rpc;
    HttpOptions http;
    AuditOptions audit;
    std::string log_level;
    std::string log_format;
    std::vector<Setting> settings; ///< every key, sorted
    /// Every key as it was written, for Given::kept. There may be a password in it.
    RawValues written;
    std::shared_ptr<const RawValues> file;       ///< what it was made of, for Given::file
    std::shared_ptr<SecretMemory> secret_memory; ///< for Given::secret_memory
};

/// What the command line gave: by key of the table, and what is not a setting.
struct Given {
    std::map<std::string, RawValue> values;
    std::optional<std::string> session;
    std::string config_file;
    /// Of a whole server. Claude Code names its session in the environment of those it starts: a
    /// one-off `berth call` from its shell must not step into that session by accident.
    bool is_server = false;
    /// By key of the table: these stay as they are, whatever file, flag and variable say now.
    RawValues kept;
    /// What the settings file says. Null: it is read.
    std::shared_ptr<const RawValues> file{};
    /// Makes no machine: a mount whose folder has gone keeps nobody from looking or cleaning up.
    bool only_looks = false;
    /// Of one of the many sessions of a server, which anybody who may call names: what it needs of
    /// this host is made with its first machine. Else thousands of names were as many folders.
    bool makes_nothing_yet = false;
    /// Tells what a server would be given, which may have another session: what of it needs the
    /// name of one is told as it is written, where there is none.
    bool shows = false;
    /// Of the session's commands before; null: it has had none.
    std::shared_ptr<SecretMemory> secret_memory{};
};

/// The process's own.
[[nodiscard]] Environment process_environment();

/// Flags, then the environment, the profile, the file, the defaults; what the profile locks before
/// all of them. Throws Error(invalid_argument)
/// that names key, value, allowed range and origin; for an unknown key of the file the nearest one.
[[nodiscard]] Options make_options(const Given& given, const Environment& environment);

} // namespace berth::server

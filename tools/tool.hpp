#pragma once

#include "sandbox/base/control_characters.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/workspace/store.hpp"
#include "tools/secret_mask.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

/// The operator's limits of section 9 of the design that tools apply themselves.
struct Settings {
    std::chrono::seconds exec_timeout{120};
    std::chrono::seconds exec_max_timeout{7200};
    std::chrono::seconds job_timeout{1800};
    std::chrono::seconds job_max_timeout{7200};
    /// A call that asks for more than that gets it, and is told; else it is refused.
    bool cuts_exec_timeout = false;
    bool cuts_job_timeout = false;
    std::uint64_t output_budget = 30'000; ///< characters of text in a result
    std::uint64_t read_limit = 2000;      ///< lines
    std::uint64_t read_budget = 50'000;   ///< characters
    std::uint64_t read_image = 5ULL << 20U;
    std::uint64_t edit_max_file = 256ULL << 20U;
    std::uint64_t glob_limit = 1000;
    std::uint64_t grep_limit = 250;
    std::uint64_t grep_line = 500;
    std::chrono::milliseconds search_time{10'000};
    ControlCharacters control_characters = ControlCharacters::strip;
    bool sticky_cwd = true;
    bool structured_content = false;
    protocol::Protection protection; ///< no paths: nothing is protected
    /// What the operator puts into the environment of every command. Called for each, by any
    /// thread; throws Error when a part of it is not to be had. Empty: nothing.
    std::function<std::map<std::string, std::string>()> command_variables;
    bool gives_secrets = false; ///< some of these are, and no placeholders
    /// Secrets that commands have a placeholder of (Sandbox::placeholders()), with their values as
    /// they are now; may be empty. Throws as that does.
    std::function<std::map<std::string, std::string>()> withheld_secrets;
    /// Of these, the values that no result may show, by any thread. Empty both: there are none.
    /// `secrets` reads them anew, which may block, `known_secrets` tells what was read before.
    std::function<std::vector<Secret>()> secrets;
    std::function<std::vector<Secret>()> known_secrets;
};

/// Takes the newest word on how far a call is: one or a few lines, valid UTF-8 without control
/// characters. Never blocks; of what comes faster than a client is told, the last is.
using Progress = std::function<void(std::string message)>;

/// Told how many bytes a call is about to hold for its result, where they are many; throws
/// Error(busy) where other calls hold too much for so long that it is not waited for.
using Hold = std::function<void(std::size_t bytes)>;

/// At the top of a result.
using Told = session::Told;

/// What a call has beside its arguments. Lives for one call.
struct Context {
    session::SessionManager& sessions;
    workspace::Store& workspace;
    const Settings& settings;
    session::SessionId session;
    bool anonymous = false; ///< no principal: workspace tools refuse
    std::stop_token stop;   ///< the client cancelled, or the server stops
    Told told;              ///< filled by tools: what is said with whichever result is read first
    /// Of a command that its call waits for; 0: the call has none of its own.
    std::chrono::milliseconds time{0};
    /// Empty unless the client wants to see how far the call is.
    Progress progress = {};
    Hold hold = [](std::size_t /*bytes*/) {}; ///< by default nobody counts
};

/// A picture in the result, beside the text.
struct Image {
    std::string data; ///< the file's bytes
    std::string mime_type;
};

/// What a tool gives back: text for the model, `data` for programs (an object that its output
/// schema describes, bodies included; the service leaves them out where design section 9 says so).
struct Result {
    Result();
    Result(std::string text, const nlohmann::json& data);
    Result(std::string text, nlohmann::json&& data);
    Result(Result&&) noexcept;
    Result& operator=(Result&&) noexcept;
    ~Result();

    std::string text;
    std::unique_ptr<nlohmann::json> data;
    std::vector<Image> images;
    /// Above the text, behind those of Context::told: what is said of this call alone. Where nobody
    /// reads the result they go with it, and are not said with another one.
    std::vector<std::string> notices;
    bool failed = false; ///< the work was done, and the caller's dialect calls its outcome an error
    /// Acknowledged once the result has been handed on. Of a command, or of how jobs have ended.
    sandbox::Receipt receipt;
    /// A digest of the outcome where the work was done and came to nothing good, such as a command
    /// that ended with another status than 0: the same for the same outcome. Else empty.
    std::string unsuccessful;
};

struct Annotations {
    bool read_only = false;
    bool destructive = true;
    bool idempotent = false;
    bool open_world = false;
};

struct Dialect;
struct DialectTool;

/// One line of the table in all_tools.cpp, or of what a dialect makes of it (dialect.hpp).
struct Entry {
    std::string_view name;
    std::string_view title;
    std::string_view input_schema;  ///< the text of schemas/tools/<name>.json
    std::string_view output_schema; ///< the text of schemas/tools/<name>.output.json
    Annotations annotations;
    /// Members of `data` that are in the text already: left out of `_meta["berth/result"]`.
    std::string_view bodies; ///< space-separated
    /// The argument that is for who reads the call, and changes nothing of what it does: two calls
    /// that differ in it alone are the same. Empty: there is none.
    std::string_view without_effect;
    /// For the model, true to the backend in force; under 2000 characters.
    std::string (*describe)(const Settings& settings, sandbox::Backend& backend);
    /// The arguments with canonical names only, as the input schema describes them: aliases are
    /// renamed, what is ignored is gone. Throws Error(invalid_argument) when two spellings of one
    /// argument disagree, Error(unsupported).
    nlohmann::json (*canonical)(const nlohmann::json& arguments);
    /// Throws what the decoder has against canonical arguments; accepts what the schema accepts.
    void (*check)(const nlohmann::json& canonical);
    /// `arguments` is an object, not yet canonical. Throws berth::Error.
    Result (*run)(Context& context, const nlohmann::json& arguments);
    const Dialect* dialect = nullptr;  ///< in which it is served; null: berth's own
    const DialectTool* line = nullptr; ///< of the dialect's table; null: it keeps name and form
};

/// Every tool, sorted by name: the one place where a tool is registered.
[[nodiscard]] const std::vector<Entry>& all_tools();

/// Null when there is none.
[[nodiscard]] const Entry* find_tool(std::string_view name);

/// Runs the tool in its session, in the dialect it is served in, and retries nothing. Notices of
/// the lease and of the call are collected in `context.told`. `arguments`: an object; of
/// anything else, and of what was cut off (cut_off.hpp), nothing is run.
[[nodiscard]] Result run_tool(const Entry& tool, Context& context, const nlohmann::json& arguments);

} // namespace berth::tools

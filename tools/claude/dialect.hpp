#pragma once

#include "tools/dialect.hpp"

namespace berth::tools::claude {

/// Names, units and texts of the tools that are built into Claude Code, so that what a model was
/// trained on holds for berth's. docs/claude-dialect.md lists them, and what differs.
[[nodiscard]] const Dialect& dialect();

/// An argument that was given; null when it was not, or as null.
[[nodiscard]] const nlohmann::json* given(const nlohmann::json& arguments, std::string_view name);

/// The arguments under the names of the berth tool `tool`, by the table; those are as they came.
[[nodiscard]] nlohmann::json renamed(const nlohmann::json& arguments, std::string_view tool);

/// Of a call whose file or directory is not there, where `what` says so: with the place where
/// relative paths begin. Nothing for any other error.
[[nodiscard]] std::optional<Error> explain_missing(const Error& error, const std::string& what);

// One of each for every line of the table; contracts in tools/dialect.hpp.

struct Bash {
    static std::string describe(const Settings& settings, sandbox::Backend& backend);
    static nlohmann::json canonical(const nlohmann::json& arguments, const Settings& settings);
    static void phrase(const nlohmann::json& arguments, const Settings& settings, Result& result);
};

/// bash_kill, with TERM and then KILL.
struct TaskStop {
    static std::string describe(const Settings& settings, sandbox::Backend& backend);
    static nlohmann::json canonical(const nlohmann::json& arguments, const Settings& settings);
    static void phrase(const nlohmann::json& arguments, const Settings& settings, Result& result);
    static std::optional<Error> explain(const nlohmann::json& arguments, const Error& error);
};

struct Read {
    static std::string describe(const Settings& settings, sandbox::Backend& backend);
    static nlohmann::json canonical(const nlohmann::json& arguments, const Settings& settings);
    static void phrase(const nlohmann::json& arguments, const Settings& settings, Result& result);
    static std::optional<Error> explain(const nlohmann::json& arguments, const Error& error);
};

struct Write {
    static std::string describe(const Settings& settings, sandbox::Backend& backend);
    static nlohmann::json canonical(const nlohmann::json& arguments, const Settings& settings);
    static void phrase(const nlohmann::json& arguments, const Settings& settings, Result& result);
};

struct Edit {
    static std::string describe(const Settings& settings, sandbox::Backend& backend);
    static nlohmann::json canonical(const nlohmann::json& arguments, const Settings& settings);
    static void phrase(const nlohmann::json& arguments, const Settings& settings, Result& result);
    static std::optional<Error> explain(const nlohmann::json& arguments, const Error& error);
};

struct Glob {
    static std::string describe(const Settings& settings, sandbox::Backend& backend);
    static nlohmann::json canonical(const nlohmann::json& arguments, const Settings& settings);
    static void phrase(const nlohmann::json& arguments, const Settings& settings, Result& result);
    static std::optional<Error> explain(const nlohmann::json& arguments, const Error& error);
};

struct Grep {
    static std::string describe(const Settings& settings, sandbox::Backend& backend);
    static nlohmann::json canonical(const nlohmann::json& arguments, const Settings& settings);
    static void phrase(const nlohmann::json& arguments, const Settings& settings, Result& result);
    static std::optional<Error> explain(const nlohmann::json& arguments, const Error& error);
};

} // namespace berth::tools::claude

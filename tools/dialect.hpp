#pragma once

#include "sandbox/base/error.hpp"
#include "tools/tool.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The same tools under other names, units and texts. A dialect is a table over all_tools(): what a
// call does is the tool's, how it is asked for and told is the dialect's.

namespace berth::tools {

/// An argument of a dialect's tool, and what the tool itself calls it.
struct ArgumentName {
    std::string_view name;
    std::string_view canonical;
    /// Handed on under the canonical name as it came, past `canonical()`: the tool itself ignores
    /// it, refuses it or does what it says. It is not in the schema.
    bool handed_on = false;
};

/// One line of a dialect's table.
struct DialectTool {
    std::string_view tool; ///< of all_tools()
    std::string_view name; ///< under which it is served
    std::string_view title;
    std::string_view input_schema;
    std::string_view bodies; ///< as in Entry, of the dialect's text
    std::span<const ArgumentName> arguments;
    /// As in Entry.
    std::string (*describe)(const Settings& settings, sandbox::Backend& backend);
    /// The tool's own arguments for those of the dialect, which accepts what `input_schema`
    /// accepts. Throws Error(invalid_argument) in the dialect's names and units.
    nlohmann::json (*canonical)(const nlohmann::json& arguments, const Settings& settings);
    /// Puts the dialect's text in place of the tool's. Throws Error for what is a failure in the
    /// dialect alone.
    void (*phrase)(const nlohmann::json& arguments, const Settings& settings, Result& result);
    /// The dialect's words for an error of the tool; nothing where names alone are exchanged. Null:
    /// that is so for every error.
    std::optional<Error> (*explain)(const nlohmann::json& arguments, const Error& error);
};

/// What the tools' errors and hints say of something that has no counterpart in the dialect.
struct Phrase {
    std::string_view from;
    std::string_view to;
};

struct Dialect {
    std::string_view name;
    std::span<const DialectTool> tools; ///< those without a line keep name and form
    std::span<const Phrase> phrases;
};

/// Null for "berth", whose table is all_tools() itself, and for a name that no dialect has.
[[nodiscard]] const Dialect* find_dialect(std::string_view name);

/// Every tool as the dialect serves it, sorted by name. Null: all_tools().
[[nodiscard]] const std::vector<Entry>& tools_in(const Dialect* dialect);

/// The name of the tool in all_tools(), whatever it is served under.
[[nodiscard]] std::string_view own_name(const Entry& tool);

/// `text`, which is berth's own and no content of a file, with the dialect's phrases and names of
/// tools. Names are exchanged as whole words only, never within a path or quotes. Null: as it is.
[[nodiscard]] std::string in_words_of(const Dialect* dialect, std::string_view text);

/// The arguments of the tool itself. Throws Error(invalid_argument).
[[nodiscard]] nlohmann::json own_arguments(const DialectTool& line, const nlohmann::json& arguments,
                                           const Settings& settings);

/// `error` with the details and the output of the one that it is told in place of.
[[nodiscard]] Error with_facts_of(const Error& original, Error error);

/// As tool.run(), with arguments, texts and errors of the dialect. `tool.dialect` is not null.
[[nodiscard]] Result run_in_dialect(const Entry& tool, Context& context,
                                    const nlohmann::json& arguments);

} // namespace berth::tools

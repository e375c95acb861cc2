#pragma once

#include "server/mcp/era.hpp"
#include "tools/tool.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth::mcp {

/// The tools of this server, as far as the protocol needs to know them.
struct Catalog {
    std::vector<const tools::Entry*> served;     ///< sorted by name
    std::map<std::string, std::string> left_out; ///< tools of berth that are not served, and why

    [[nodiscard]] const tools::Entry* find(std::string_view name) const;

    /// By the name that it has in berth's documents, in whatever dialect.
    [[nodiscard]] bool serves(std::string_view own_name) const;

    /// Of those served, for the end of a message.
    [[nodiscard]] std::string names() const;
};

/// What the operator asked for: a comma-separated list (empty: all), and only tools that change
/// nothing. Throws Error(invalid_argument) for a name that no tool has, and where none is left.
/// `origin`: where the list was given.
[[nodiscard]] Catalog select_tools(const std::vector<tools::Entry>& all,
                                   const std::vector<std::string>& wanted, bool read_only,
                                   const std::string& origin = {});

/// The `tools` array of tools/list. `describe` gives the text for the model. `with_icons`: the
/// client knows of them; they cost 300 bytes for each tool.
[[nodiscard]] std::string
list_tools(const Catalog& catalog, const tools::Settings& settings,
           const std::function<std::string(const tools::Entry&)>& describe, bool with_icons);

/// What a client is told to accept in one piece: a result within our own budgets is never cut a
/// second time by the client (Claude Code would move it to a file that the sandbox cannot see).
[[nodiscard]] std::uint64_t max_result_characters(const tools::Settings& settings);

} // namespace berth::mcp

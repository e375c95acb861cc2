#include "server/mcp/catalog.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/mcp/icons.hpp"
#include "server/rpc/json_text.hpp"
#include "tools/dialect.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace berth::mcp {
namespace {

void append_flag(std::string& out, std::string_view name, bool value)
{
    out += ",\"";
    out += name;
    out += value ? "\":true" : "\":false";
}

void append_tool(std::string& out, const tools::Entry& tool, const std::string& description,
                 const tools::Settings& settings, bool with_icons)
{
    out += R"({"name":)";
    rpc::append_quoted(out, tool.name);
    out += R"(,"title":)";
    rpc::append_quoted(out, tool.title);
    out += R"(,"description":)";
    rpc::append_quoted(out, utf8::sanitize(description));
    const auto icons = with_icons ? icons_of(tools::own_name(tool)) : nlohmann::json();
    if (!icons.empty()) {
        out += R"(,"icons":)" + rpc::to_text(icons);
    }
    out += R"(,"inputSchema":)";
    out += tool.input_schema;
    if (settings.structured_content) {
        out += R"(,"outputSchema":)";
        out += tool.output_schema;
    }
    out += R"(,"annotations":{"title":)";
    rpc::append_quoted(out, tool.title);
    append_flag(out, "readOnlyHint", tool.annotations.read_only);
    append_flag(out, "destructiveHint", tool.annotations.destructive);
    append_flag(out, "idempotentHint", tool.annotations.idempotent);
    append_flag(out, "openWorldHint", tool.annotations.open_world);
    out += R"(},"_meta":{"anthropic/alwaysLoad":true,"anthropic/maxResultSizeChars":)";
    out += std::to_string(max_result_characters(settings));
    out += "}}";
}

/// An operator may name a tool as it is served or as berth's documents do.
bool is_named(const tools::Entry& tool, std::string_view name)
{
    return tool.name == name || tools::own_name(tool) == name;
}

} // namespace

const tools::Entry* Catalog::find(std::string_view name) const
{
    const auto found = std::lower_bound(
        served.begin(), served.end(), name,
        [](const tools::Entry* tool, std::string_view wanted) { return tool->name < wanted; });
    return found != served.end() && (*found)->name == name ? *found : nullptr;
}

bool Catalog::serves(std::string_view own_name) const
{
    return std::ranges::any_of(
        served, [&](const tools::Entry* tool) { return tools::own_name(*tool) == own_name; });
}

std::string Catalog::names() const
{
    return joined(served, ", ", &tools::Entry::name);
}

Catalog select_tools(const std::vector<tools::Entry>& all, const std::vector<std::string>& wanted,
                     bool read_only, const std::string& origin)
{
    for (const auto& name : wanted) {
        if (std::none_of(all.begin(), all.end(),
                         [&](const tools::Entry& tool) { return is_named(tool, name); })) {
            throw Error(ErrorCode::invalid_argument,
                        "no tool is named \"" + name + '"' +
                            (origin.empty() ? "" : " (tools, " + origin + ')'),
                        "The tools are " + joined(all, ", ", &tools::Entry::name) + '.');
        }
    }
    Catalog catalog;
    for (const auto& tool : all) {
        const auto is_this = [&](const std::string& name) { return is_named(tool, name); };
        if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), is_this)) {
            catalog.left_out.emplace(tool.name, "the operator did not list it under --tools");
        } else if (read_only && !tool.annotations.read_only) {
            catalog.left_out.emplace(tool.name, "the operator started berth with --read-only");
        } else {
            catalog.served.push_back(&tool);
        }
    }
    if (catalog.served.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    "no tool is left to serve: --read-only leaves out every tool of --tools",
                    tools::in_words_of(
                        all.front().dialect,
                        "Name tools that change nothing, e.g. read_file, or leave --read-only "
                        "away."));
    }
    std::sort(catalog.served.begin(), catalog.served.end(),
              [](const tools::Entry* a, const tools::Entry* b) { return a->name < b->name; });
    return catalog;
}

std::string list_tools(const Catalog& catalog, const tools::Settings& settings,
                       const std::function<std::string(const tools::Entry&)>& describe,
                       bool with_icons)
{
    std::string out = "[";
    for (const auto* tool : catalog.served) {
        out += out.size() > 1 ? "," : "";
        append_tool(out, *tool, describe(*tool), settings, with_icons);
    }
    out += ']';
    return out;
}

std::uint64_t max_result_characters(const tools::Settings& settings)
{
    constexpr std::uint64_t least = 100'000;
    constexpr std::uint64_t most = 500'000; // what Claude Code takes at most
    // A client counts units of UTF-16, of which characters beyond the first plane have two.
    constexpr std::uint64_t units = 2;
    // Status, headers and notices come on top: a path of 4095 bytes may have each escaped.
    constexpr std::uint64_t beside = 40'000;
    const auto budget = std::max(settings.output_budget, settings.read_budget);
    const auto needed = budget * units + beside;
    return std::clamp(needed, least, most);
}

} // namespace berth::mcp

// The arguments of a call, in each dialect: NAME ==== JSON, or the beginning of it, as some clients
// hand it on. Where no tool has the name, all take them.

#include "sandbox/base/cut_off.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_reader.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tools/cut_off.hpp"
#include "tools/dialect.hpp"
#include "tools/tool.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace {

using berth::fuzz::require;
using berth::tools::Entry;
using nlohmann::json;

void check_words(const Entry& tool, const berth::Error& error)
{
    require(berth::utf8::is_valid(error.what()) && berth::utf8::is_valid(error.hint()),
            "messages are UTF-8");
    (void)berth::tools::in_words_of(tool.dialect, error.what());
    (void)berth::tools::in_words_of(tool.dialect, error.hint());
}

enum class Told : unsigned char { nothing, not_arguments, cut_off };

/// What is said of them before the tool sees them.
Told told(const Entry& tool, const json& arguments)
try {
    berth::tools::refuse_cut_off(tool, arguments);
    return Told::nothing;
} catch (const berth::Error& error) {
    check_words(tool, error);
    require(error.code() == berth::ErrorCode::invalid_argument, "it is about the arguments");
    return berth::tells_cut_off(error) ? Told::cut_off : Told::not_arguments;
}

void decode(const Entry& tool, const json& arguments)
try {
    const json own =
        tool.line != nullptr ? berth::tools::own_arguments(*tool.line, arguments, {}) : arguments;
    const json canonical = tool.canonical(own);
    tool.check(canonical);
    require(tool.canonical(canonical) == canonical, "canonical arguments are");
} catch (const berth::Error& error) {
    check_words(tool, error);
}

/// Nothing is done of arguments that came as a text, whole or not.
void take_text(const Entry& tool, std::string_view text)
{
    if (berth::utf8::is_valid(text)) {
        const bool blank = text.find_first_not_of(" \t\r\n") == text.npos;
        const auto alone = told(tool, json(text));
        require(alone != Told::nothing, "a string is refused");
        require(alone != Told::cut_off || blank || !json::accept(text), "what is whole is not");
        const auto wrapped = told(tool, {{"_raw", text}});
        require(wrapped == Told::nothing || wrapped == alone, "a wrapper changes nothing of that");
    }
}

} // namespace

BERTH_FUZZ_TARGET(tool_arguments)
{
    const auto [name, text] = berth::fuzz::parts_of<2>(input);
    json arguments;
    try {
        arguments = berth::rpc::read_json(text, {});
    } catch (const berth::rpc::ProtocolError&) {
        arguments = nullptr; // refused before
    }
    for (const auto* dialect : {static_cast<const berth::tools::Dialect*>(nullptr),
                                berth::tools::find_dialect("claude")}) {
        const auto& tools = berth::tools::tools_in(dialect);
        const auto named = std::ranges::find(tools, name, &Entry::name);
        const bool known = named != tools.end();
        const Entry& one = known ? *named : tools.front(); // for each it reads the schema
        take_text(one, text);
        if (!arguments.is_object() || told(one, arguments) != Told::nothing) {
            continue;
        }
        for (const auto& tool : tools) {
            if (!known || tool.name == name) {
                decode(tool, arguments);
            }
        }
    }
}

// What a client names a resource by, and what its headers repeat.

#include "sandbox/base/error.hpp"
#include "sandbox/base/small_letters.hpp"
#include "server/mcp/header_arguments.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_reader.hpp"
#include "server/workspace_uri.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace {

using berth::fuzz::require;

void take_uri(std::string_view uri)
try {
    if (const auto path = berth::server::workspace_path(uri)) {
        require(path->find('\0') == path->npos, "no path has a NUL");
        require(berth::server::workspace_path(berth::server::workspace_uri(*path)) == path,
                "a path is the same by its own URI");
        (void)berth::server::mime_type_of(*path);
    }
} catch (const berth::Error& error) {
    require(error.code() == berth::ErrorCode::invalid_argument, "the URI is wrong");
}

void take_arguments(std::string_view schema, std::string_view arguments)
try {
    const auto given = berth::rpc::read_json(arguments, {});
    for (const auto& each : berth::mcp::header_arguments_of(berth::rpc::read_json(schema, {}))) {
        require(!each.path.empty() && each.name == berth::in_small_letters(each.name),
                "an argument has a place and a name");
        (void)berth::mcp::header_text(given, each);
    }
} catch (const berth::rpc::ProtocolError&) {
    return; // no JSON
}

} // namespace

BERTH_FUZZ_TARGET(resource_request)
{
    const auto parts = berth::fuzz::parts_of<3>(input);
    take_uri(parts[0]);
    take_arguments(parts[1], parts[2]);
}

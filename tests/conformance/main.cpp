#include "sandbox/direct/direct_backend.hpp"
#include "server/app.hpp"
#include "server/installation.hpp"
#include "server/mcp/service.hpp"
#include "tests/conformance/fixture.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

// berth-conformance --http ADDRESS:PORT [flags of `berth serve`]: the server of HTTP and the
// protocol are berth's, what is offered is what the official suite asks for. No tool of it needs a
// machine, so tests/bench takes one for a tool that does nothing. Without --token-file it lets
// anybody in.

namespace {

namespace conformance = berth::conformance;
using berth::server::Options;

void offer_fixtures(berth::mcp::Configuration& configuration)
{
    configuration.catalog = {};
    auto& tools = configuration.protocol_tools;
    for (auto part :
         {&conformance::plain_tools, &conformance::asking_tools, &conformance::input_tools}) {
        auto some = part();
        std::move(some.begin(), some.end(), std::back_inserter(tools));
    }
    std::ranges::sort(tools, {}, &berth::mcp::ProtocolTool::name);
    configuration.prompts = conformance::prompts();
    configuration.resources = conformance::resources();
    // The fixtures never change, so there is nothing to remember of who wants to hear of it.
    configuration.subscribe = [](const std::string&, bool) {};
}

} // namespace

int main(int argc, char** argv)
{
    std::vector<const char*> arguments{argc > 0 ? argv[0] : "berth-conformance", "serve"};
    std::copy(argv + std::min(argc, 1), argv + argc, std::back_inserter(arguments));
    const auto has = [&](std::string_view flag) {
        return std::ranges::find(arguments, flag) != arguments.end();
    };
    if (!has("--token-file") && (has("--http") || has("--unix"))) {
        arguments.push_back("--insecure-no-auth");
    }
    return berth::server::run(
        static_cast<int>(arguments.size()), arguments.data(),
        {.make_backend = [](const Options& options) -> std::shared_ptr<berth::sandbox::Backend> {
             return berth::direct::make_backend(
                 berth::server::helper_program("berth-guest", berth::server::process_environment()),
                 options.sessions.state_directory + "/machines");
         },
         .examine = [](const Options&,
                       berth::sandbox::Backend&) { return std::vector<berth::server::Check>(); },
         .extend = offer_fixtures});
}

#include "server/cli/call.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "server/cli/print.hpp"
#include "server/mcp/era.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_reader.hpp"
#include "server/rpc/json_text.hpp"
#include "server/serve.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <thread>
#include <utility>

#include <unistd.h>

namespace berth::server::cli {
namespace {

using nlohmann::json;

constexpr const char* example = "One is written like this: '{\"path\":\"notes.txt\"}'";

std::string read_to_end(int fd)
{
    std::string text;
    std::array<char, 65536> piece{};
    while (const auto count = read_full(fd, piece.data(), piece.size())) {
        text.append(piece.data(), count);
    }
    return text;
}

std::string request_line(const std::string& tool, json arguments)
{
    const json request{
        {"jsonrpc", "2.0"},
        {"id", 1},
        {"method", "tools/call"},
        {"params",
         {{"name", tool},
          {"arguments", std::move(arguments)},
          {"_meta",
           {{"io.modelcontextprotocol/protocolVersion", mcp::modern_version},
            {"io.modelcontextprotocol/clientCapabilities", json::object()},
            {"io.modelcontextprotocol/clientInfo", {{"name", "berth call"}, {"version", ""}}}}}}}};
    return rpc::to_text(request) + '\n';
}

std::string served(const Application& application)
{
    std::string names;
    for (const auto* tool : application.catalog().served) {
        names += (names.empty() ? "" : ", ") + std::string(tool->name);
    }
    return "Served are: " + names + '.';
}

int show(const json& reply, const Application& application, bool as_json)
{
    if (reply.contains("error")) {
        complain(reply["error"].value("message", "the call failed"), served(application));
        return 1;
    }
    const auto& result = reply.at("result");
    if (as_json) {
        print_json(result);
    } else {
        for (const auto& block : result.at("content")) {
            print(block.value("type", "") == "text"
                      ? block.at("text").get<std::string>()
                      : "[" + block.value("mimeType", "binary") + " content; --json shows it]");
        }
    }
    return result.value("isError", false) ? 1 : 0;
}

} // namespace

int call(Application& application, const std::string& tool, const std::string& arguments,
         bool as_json)
{
    json parsed;
    try {
        parsed = rpc::read_json(arguments == "-" ? read_to_end(STDIN_FILENO) : arguments,
                                application.options().rpc.read);
    } catch (const rpc::ProtocolError& error) {
        complain("the arguments of " + tool + " are no JSON object: " + error.what(), example);
        return 2;
    }
    if (!parsed.is_object()) {
        complain("the arguments of " + tool + " are no JSON object", example);
        return 2;
    }
    auto requests = make_pipe();
    auto answers = make_pipe();
    std::jthread server([&application, input = std::move(requests.read),
                         output = std::move(answers.write)]() mutable {
        serve(application, std::move(input), std::move(output));
    });
    write_full(requests.write.get(), request_line(tool, std::move(parsed)));
    requests.write.reset();
    const auto reply = read_to_end(answers.read.get());
    server.join();
    return show(json::parse(reply), application, as_json);
}

} // namespace berth::server::cli

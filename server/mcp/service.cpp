#include "server/mcp/service.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace berth::mcp {
namespace {

using nlohmann::json;

/// The lists change only when the server is started anew; `private`: they name the machine.
constexpr std::string_view cache_members = R"(,"ttlMs":3600000,"cacheScope":"private")";

/// What a client shows of the instructions, in characters.
constexpr std::size_t instructions_limit = 4095;

std::string server_info(const Identity& identity)
{
    std::string text = R"({"name":"berth","title":"berth","version":)";
    rpc::append_quoted(text, identity.version);
    return text + '}';
}

/// The token as JSON text, or empty.
std::string progress_token(const json& params)
{
    const auto meta = params.find("_meta");
    if (meta == params.end() || !meta->is_object()) {
        return {};
    }
    const auto token = meta->find("progressToken");
    return token == meta->end() ? std::string() : rpc::id_from(*token);
}

} // namespace

Service::Service(Configuration configuration)
    : configuration_(std::move(configuration)), heartbeat_(configuration_.progress_interval)
{
}

const std::string& Service::instructions()
{
    std::call_once(instructions_once_, [this] {
        const auto text = utf8::sanitize(configuration_.instructions());
        rpc::append_quoted(instructions_, utf8::prefix_bytes(text, instructions_limit));
    });
    return instructions_;
}

const std::string& Service::tools_text()
{
    std::call_once(tools_once_, [this] {
        tools_text_ =
            list_tools(configuration_.catalog, configuration_.settings, configuration_.describe);
    });
    return tools_text_;
}

std::string Service::discover()
{
    std::string text = begin_result(Era::modern, configuration_.identity);
    text += R"(},"supportedVersions":[")";
    text += modern_version;
    text += R"("],"capabilities":{"tools":{}},"instructions":)" + instructions();
    text += cache_members;
    return text + '}';
}

std::string Service::initialize(const std::string& version)
{
    return R"({"protocolVersion":")" + version + R"(","capabilities":{"tools":{}},"serverInfo":)" +
           server_info(configuration_.identity) + R"(,"instructions":)" + instructions() + '}';
}

std::string Service::list(const json& params, Era era)
{
    // The list is one page, so no cursor was ever given out but the empty one of a careless client.
    if (const auto cursor = params.find("cursor"); cursor != params.end() && *cursor != "") {
        throw rpc::ProtocolError(rpc::invalid_params, "Invalid cursor");
    }
    std::string text = begin_result(era, configuration_.identity);
    text += R"(},"tools":)" + tools_text();
    text += era == Era::modern ? cache_members : "";
    return text + '}';
}

const tools::Entry& Service::requested_tool(const json& params) const
{
    const auto name = params.find("name");
    if (name == params.end() || !name->is_string()) {
        throw rpc::ProtocolError(rpc::invalid_params, "tools/call needs \"name\", a string");
    }
    const auto arguments = params.find("arguments");
    if (arguments != params.end() && !arguments->is_object()) {
        throw rpc::ProtocolError(rpc::invalid_params, "\"arguments\" must be an object");
    }
    const auto& wanted = name->get_ref<const std::string&>();
    if (const auto* tool = configuration_.catalog.find(wanted)) {
        return *tool;
    }
    const auto left_out = configuration_.catalog.left_out.find(wanted);
    throw rpc::ProtocolError(rpc::invalid_params,
                             left_out == configuration_.catalog.left_out.end()
                                 ? "Unknown tool: " + wanted.substr(0, 128)
                                 : "Tool " + wanted + " is not served: " + left_out->second);
}

void Service::call(const std::shared_ptr<rpc::Call>& call, Era era)
{
    const auto& tool = requested_tool(call->params());
    std::unique_ptr<Heartbeat::Beat> beat;
    if (auto token = progress_token(call->params()); !token.empty()) {
        beat = heartbeat_.watch(call, std::move(token), std::string(tool.name));
    }
    run(call, tool, era);
}

void Service::run(const std::shared_ptr<rpc::Call>& call, const tools::Entry& tool, Era era)
{
    static const json no_arguments = json::object();
    const auto arguments = call->params().find("arguments");
    const auto started = std::chrono::steady_clock::now();
    std::vector<std::string> notices;
    CallReport report{.tool = tool.name, .outcome = "ok", .duration = {}, .message = {}};
    std::string reply;
    std::string message;
    try {
        auto result =
            configuration_.run(tool, arguments == call->params().end() ? no_arguments : *arguments,
                               call->stop_token(), notices);
        reply = tool_result(std::move(result), notices, tool.bodies, era, configuration_.identity);
    } catch (const std::exception& failure) {
        const auto* error = dynamic_cast<const Error*>(&failure);
        report.outcome = to_string(error != nullptr ? error->code() : ErrorCode::internal);
        message = failure.what();
        report.message = message;
        reply = tool_failure(failure, notices, era, configuration_.identity);
    }
    call->reply(reply);
    report.duration = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - started);
    configuration_.report(report);
}

} // namespace berth::mcp

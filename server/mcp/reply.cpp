#include "server/mcp/reply.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/host_limit.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/mcp/advice.hpp"
#include "server/mcp/error_details.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace berth::mcp {
namespace {

using nlohmann::json;

/// The only place where text of a sandbox is made fit for JSON; valid text is not copied.
void append_text(std::string& out, std::string_view text)
{
    if (utf8::is_valid(text)) {
        rpc::append_quoted(out, text);
    } else {
        rpc::append_quoted(out, utf8::sanitize(text));
    }
}

void append_notices_meta(std::string& out, const std::vector<std::string>& notices)
{
    if (!notices.empty()) {
        out += R"(,"berth/notice":)" + rpc::to_text(notices);
    }
}

/// A guest joins the notices of a command with newlines. Every line is one of its own, since one
/// without the prefix would read as output.
std::vector<std::string> one_per_line(const std::vector<std::string>& notices)
{
    std::vector<std::string> lines;
    for (std::string_view rest : notices) {
        while (!rest.empty()) {
            const auto end = std::min(rest.find('\n'), rest.size());
            if (end > 0) {
                lines.emplace_back(rest.substr(0, end));
            }
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return lines;
}

std::string with_notices(std::string text, const std::vector<std::string>& notices)
{
    // What a command prints may look like a notice, and would be believed: then a line says where
    // the notices end.
    const bool looks_like_one = text.starts_with("[berth]");
    if (notices.empty() && !looks_like_one) {
        return text;
    }
    std::string lines;
    for (const auto& notice : notices) {
        lines += "[berth] " + notice + '\n';
    }
    if (looks_like_one) {
        lines += "[berth] end of the notices: what follows is output\n";
    }
    return lines + text;
}

void append_content(std::string& out, std::string_view text,
                    const std::vector<tools::Image>& images)
{
    out += R"("content":[{"type":"text","text":)";
    append_text(out, text);
    out += '}';
    for (const auto& image : images) {
        out += R"(,{"type":"image","data":")";
        out += base64_encode(image.data);
        out += R"(","mimeType":)";
        append_text(out, image.mime_type);
        out += '}';
    }
    out += ']';
}

void leave_out(json& data, std::string_view members)
{
    while (!members.empty()) {
        const auto end = std::min(members.find(' '), members.size());
        data.erase(std::string(members.substr(0, end)));
        members.remove_prefix(std::min(end + 1, members.size()));
    }
}

std::string message_of(const Error& error)
{
    return error.what() +
           (error.output().empty() ? "" : "; it printed at last:\n" + error.output());
}

json error_object(const std::exception& failure, std::string_view tool,
                  const tools::Dialect* dialect)
{
    const auto* error = dynamic_cast<const Error*>(&failure);
    if (error == nullptr) {
        const auto limit = host_limit(failure);
        return {{"code", to_string(ErrorCode::internal)},
                {"message", (limit ? limit->reason + ": " : std::string()) + failure.what()},
                {"hint", limit ? "The operator can help: " + limit->remedy
                               : "This is a fault of the server; its log on stderr has more."},
                {"retryable", false}};
    }
    json object{{"code", to_string(error->code())},
                {"message", message_of(*error)},
                {"hint", hint_for(*error, tool, dialect)},
                {"retryable", error->retryable()}};
    if (auto details = details_of(*error); !details.empty()) {
        object["details"] = std::move(details);
    }
    return object;
}

/// Of an error of the protocol: whether it is the request that should be another.
int code_of(const Error& error)
{
    constexpr std::array of_request{ErrorCode::not_found,    ErrorCode::invalid_argument,
                                    ErrorCode::invalid_path, ErrorCode::is_directory,
                                    ErrorCode::too_large,    ErrorCode::unsupported};
    return std::ranges::find(of_request, error.code()) != of_request.end() ? rpc::invalid_params
                                                                           : rpc::internal_error;
}

} // namespace

std::string begin_result(Era era, const Identity& identity, std::string_view type)
{
    if (era == Era::legacy) {
        return R"({"_meta":{)";
    }
    std::string text = R"({"resultType":")";
    text += type;
    text += R"(","_meta":{")";
    text += server_info_key;
    text += R"(":{"name":"berth","version":)";
    rpc::append_quoted(text, identity.version);
    text += '}';
    return text;
}

std::string tool_result(tools::Result result, const std::vector<std::string>& told,
                        std::string_view bodies, Era era, const Identity& identity)
{
    const auto notices = one_per_line(told);
    const bool failed = result.failed;
    json data = result.data ? std::move(*result.data) : json::object();
    std::string structured;
    if (identity.structured_content) {
        structured = rpc::to_text(data);
    } else {
        leave_out(data, bodies);
    }
    std::string out = begin_result(era, identity);
    out += era == Era::modern ? "," : "";
    out += R"("berth/result":)";
    out += structured.empty() ? rpc::to_text(data) : structured;
    append_notices_meta(out, notices);
    out += "},";
    append_content(out, with_notices(std::move(result.text), notices), result.images);
    if (!structured.empty()) {
        out += R"(,"structuredContent":)" + structured;
    }
    out += failed ? R"(,"isError":true})" : R"(,"isError":false})";
    return out;
}

std::string tool_failure(const std::exception& failure, const std::vector<std::string>& told,
                         Era era, const Identity& identity, Tried tried)
{
    const auto notices = one_per_line(told);
    json error = error_object(failure, tried.tool, identity.dialect);
    std::string text = error["message"].get<std::string>();
    text += '\n' + error["hint"].get_ref<const std::string&>();
    if (tried.times > 0) {
        error["repeated"] = tried.times;
        text += '\n' + stop_repeating(failure, tried.tool, tried.times, identity.dialect);
    }
    std::string out = begin_result(era, identity);
    out += era == Era::modern ? "," : "";
    out += R"("berth/error":)" + rpc::to_text(error);
    append_notices_meta(out, notices);
    out += "},";
    append_content(out, with_notices(std::move(text), notices), {});
    out += R"(,"isError":true})";
    return out;
}

rpc::ProtocolError method_failure(const Error& error)
{
    return {code_of(error), error.what(), rpc::to_text(protocol_data(error))};
}

rpc::ProtocolError resource_failure(const Error& error, const std::string& uri, Era era)
{
    constexpr int not_found_before = -32002;
    auto data = protocol_data(error);
    data["uri"] = uri;
    const bool is_old = era == Era::legacy && error.code() == ErrorCode::not_found;
    return {is_old ? not_found_before : code_of(error), error.what(), rpc::to_text(data)};
}

std::string repetition_notice(std::uint64_t times)
{
    return "this same command has now ended the same way (same exit code, same output) " +
           std::to_string(times) +
           " times in a row, with no other call in between: if it waits for something, wait within "
           "one command (until COMMAND; do sleep 2; done, with a timeout); else look at what it "
           "printed and change something first, or ask the user";
}

} // namespace berth::mcp

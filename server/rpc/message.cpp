#include "server/rpc/message.hpp"

#include "sandbox/base/utf8.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace berth::rpc {

using nlohmann::json;

Message::Message() : params(std::make_unique<json>(json::object())) {}

Message::Message(Message&&) noexcept = default;
Message& Message::operator=(Message&&) noexcept = default;
Message::~Message() = default;

Id id_from(const json& value)
{
    return value.is_string() || value.is_number_integer() ? to_text(value) : Id();
}

Id id_for_error(const json& message)
{
    if (message.is_object()) {
        if (const auto id = message.find("id"); id != message.end()) {
            if (Id text = id_from(*id); !text.empty()) {
                return text;
            }
        }
    }
    return "null";
}

bool is_notification(const json& message)
{
    if (!message.is_object() || message.contains("id")) {
        return false;
    }
    const auto method = message.find("method");
    return method != message.end() && method->is_string();
}

Message take_message(json&& message)
{
    if (!message.is_object()) {
        throw ProtocolError(invalid_request, "a message is an object");
    }
    const auto version = message.find("jsonrpc");
    if (version == message.end() || *version != "2.0") {
        throw ProtocolError(invalid_request, "\"jsonrpc\" must be \"2.0\"");
    }
    Message result;
    const auto id = message.find("id");
    const auto method = message.find("method");
    if (method == message.end()) {
        for (const auto* const member : {"result", "error"}) {
            if (const auto found = message.find(member);
                id != message.end() && found != message.end()) {
                result.kind = Kind::response;
                result.id = id_from(*id);
                (*result.params)[member] = std::move(*found);
                return result;
            }
        }
        throw ProtocolError(invalid_request, "\"method\" is missing");
    }
    if (!method->is_string()) {
        throw ProtocolError(invalid_request, "\"method\" must be a string");
    }
    result.method = std::move(method->get_ref<std::string&>());
    if (id != message.end()) {
        result.kind = Kind::request;
        result.id = id_from(*id);
        if (result.id.empty()) {
            throw ProtocolError(invalid_request, "\"id\" must be a string or an integer");
        }
    }
    if (const auto params = message.find("params"); params != message.end()) {
        if (!params->is_object()) {
            throw ProtocolError(invalid_params, "\"params\" must be an object");
        }
        *result.params = std::move(*params);
    }
    return result;
}

std::string result_message(const Id& id, const std::string& result)
{
    std::string text;
    text.reserve(result.size() + id.size() + 40); // and for the line's end, which a sink adds
    text += R"({"jsonrpc":"2.0","id":)";
    text += id;
    text += R"(,"result":)";
    text += result;
    text += '}';
    return text;
}

std::string error_message(const Id& id, int code, const std::string& message,
                          const std::string& data)
{
    std::string text = R"({"jsonrpc":"2.0","id":)" + id;
    text += R"(,"error":{"code":)" + std::to_string(code) + R"(,"message":)";
    append_quoted(text, utf8::sanitize(message));
    if (!data.empty()) {
        text += R"(,"data":)" + data;
    }
    text += "}}";
    return text;
}

std::string request_message(const Id& id, const std::string& method, const std::string& params)
{
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" +
           params + '}';
}

std::string notification_message(const std::string& method, const std::string& params)
{
    return R"({"jsonrpc":"2.0","method":")" + method + R"(","params":)" + params + '}';
}

} // namespace berth::rpc

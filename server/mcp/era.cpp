#include "server/mcp/era.hpp"

#include "server/rpc/error.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace berth::mcp {
namespace {

constexpr const char* client_key = "io.modelcontextprotocol/clientInfo";

const nlohmann::json* find(const nlohmann::json& object, const char* key)
{
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() ? &*found : nullptr;
}

} // namespace

Era era_of(const nlohmann::json& params)
{
    const auto* meta = find(params, "_meta");
    return meta != nullptr && find(*meta, version_key) != nullptr ? Era::modern : Era::legacy;
}

Era era_of(std::string_view method, const nlohmann::json& params)
{
    const auto claimed = era_of(params);
    if (method == "initialize" && claimed == Era::modern) {
        try {
            check_envelope(params);
        } catch (const rpc::ProtocolError&) {
            return Era::legacy;
        }
    }
    return claimed;
}

void check_envelope(const nlohmann::json& params)
{
    const auto refuse = [](const std::string& key, const std::string& what) {
        throw rpc::ProtocolError(rpc::invalid_params, "_meta[\"" + key + "\"] " + what);
    };
    const auto* meta = find(params, "_meta");
    const auto* version = meta == nullptr ? nullptr : find(*meta, version_key);
    if (version == nullptr) {
        refuse(version_key, "is missing");
    } else if (!version->is_string()) {
        refuse(version_key, "must be a string");
    }
    // Before the rest, which is what this version asks for: another may have other keys.
    if (*version != modern_version) {
        const nlohmann::json data{{"supported", {modern_version}}, {"requested", *version}};
        throw rpc::ProtocolError(unsupported_protocol_version, "Unsupported protocol version",
                                 rpc::to_text(data));
    }
    const auto* capabilities = find(*meta, capabilities_key);
    if (capabilities == nullptr) {
        refuse(capabilities_key, "is missing");
    } else if (!capabilities->is_object()) {
        refuse(capabilities_key, "must be an object");
    }
    if (const auto* client = find(*meta, client_key); client != nullptr && !client->is_object()) {
        refuse(client_key, "must be an object");
    }
}

bool has_icons(std::string_view version) noexcept
{
    return version >= "2025-11-25"; // dates, which sort as what they are
}

std::string negotiate(std::string_view requested)
{
    const auto* const found = std::find(legacy_versions.begin(), legacy_versions.end(), requested);
    return std::string(found == legacy_versions.end() ? legacy_versions.front() : *found);
}

} // namespace berth::mcp

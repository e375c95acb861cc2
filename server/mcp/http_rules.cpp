#include "server/mcp/http_rules.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "server/mcp/service.hpp"
#include "server/rpc/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace berth::mcp {
namespace {

using nlohmann::json;

constexpr int bad_request = 400;
constexpr int no_method = 404;
constexpr std::size_t longest_shown = 128;

/// "Mcp-Method" and what it should say; a client's author compares the two.
[[noreturn]] void mismatch(const std::string& header, const std::string& value,
                           const std::string& expected)
{
    throw HttpRefusal(
        bad_request, header_mismatch,
        "Header mismatch: " + header + " header value '" + visible_beginning(value, longest_shown) +
            "' does not match body value '" + visible_beginning(expected, longest_shown) + "'");
}

[[noreturn]] void missing_header(const std::string& header)
{
    throw HttpRefusal(bad_request, header_mismatch,
                      "Header mismatch: the header " + header + " is missing");
}

/// What a header says that may be in base64.
std::string said_by(const std::string& header, const std::string& value)
{
    if (auto said = decode_header(value)) {
        return std::move(*said);
    }
    throw HttpRefusal(bad_request, header_mismatch,
                      "Header mismatch: the header " + header +
                          " is neither visible ASCII nor =?base64?...?= of UTF-8");
}

[[noreturn]] void refuse_method(const std::string& method)
{
    throw HttpRefusal(no_method, rpc::method_not_found,
                      "Method not found: " + visible_beginning(method, longest_shown));
}

/// What Mcp-Name repeats; null: the method has none.
const std::string* name_in(const rpc::Message& message)
{
    const auto* key = message.method == "tools/call" || message.method == "prompts/get" ? "name"
                      : message.method == "resources/read"                              ? "uri"
                                                                                        : nullptr;
    const auto found = key == nullptr ? message.params->end() : message.params->find(key);
    return key == nullptr || found == message.params->end() || !found->is_string()
               ? nullptr
               : &found->get_ref<const std::string&>();
}

void check_name(const rpc::Message& message, const HttpFacts& facts)
{
    const auto* const name = name_in(message);
    if (name == nullptr) {
        return;
    }
    if (!facts.name) {
        missing_header("Mcp-Name");
    }
    if (const auto said = said_by("Mcp-Name", *facts.name); said != *name) {
        mismatch("Mcp-Name", said, *name);
    }
}

/// `params` has a claim of a modern revision.
void check_modern(const rpc::Message& message, const HttpFacts& facts)
{
    std::optional<HttpRefusal> not_spoken;
    try {
        check_envelope(*message.params);
    } catch (const rpc::ProtocolError& error) {
        not_spoken.emplace(bad_request, error.code(), error.what(), error.data());
        if (error.code() != unsupported_protocol_version) {
            throw HttpRefusal(*not_spoken);
        }
    }
    const auto& claimed = message.params->at("_meta").at(version_key);
    if (claimed.is_string() && facts.version && claimed != *facts.version) {
        mismatch("MCP-Protocol-Version", *facts.version, claimed.get_ref<const std::string&>());
    }
    if (facts.method && *facts.method != message.method) {
        mismatch("Mcp-Method", *facts.method, message.method);
    }
    if (not_spoken) {
        throw HttpRefusal(*not_spoken);
    }
    if (!has_method(Era::modern, message.method)) {
        refuse_method(message.method);
    }
    if (!facts.version) {
        missing_header("MCP-Protocol-Version");
    }
    if (!facts.method) {
        missing_header("Mcp-Method");
    }
    check_name(message, facts);
}

/// A header that comes twice must be right twice: who routed by it may have read either.
void check_argument(const rpc::Message& message, const HeaderArgument& argument,
                    const HttpFacts& facts)
{
    const auto arguments = message.params->find("arguments");
    const auto expected =
        arguments == message.params->end() ? std::nullopt : header_text(*arguments, argument);
    const auto header = "Mcp-Param-" + argument.name;
    bool is_there = false;
    for (const auto& [name, value] : facts.params) {
        if (name != argument.name) {
            continue;
        }
        is_there = true;
        if (const auto said = said_by(header, value); !expected || !is_said(*expected, said)) {
            mismatch(header, said, expected ? expected->text : "");
        }
    }
    if (expected && !is_there) {
        missing_header(header);
    }
}

bool is_modern_version(const std::optional<std::string>& header)
{
    return header && *header == modern_version;
}

/// What an older revision has in this header; without it the client is one of 2025-03-26 or before.
void check_legacy_version(const HttpFacts& facts)
{
    if (facts.version &&
        std::ranges::find(legacy_versions, *facts.version) == legacy_versions.end()) {
        const json data{{"supported", {modern_version}},
                        {"requested", visible_beginning(*facts.version, longest_shown)}};
        throw HttpRefusal(bad_request, unsupported_protocol_version, "Unsupported protocol version",
                          data.dump());
    }
}

} // namespace

Era check_http_message(const rpc::Message& message, const HttpFacts& facts)
{
    const bool claims = era_of(message.method, *message.params) == Era::modern;
    if (message.kind == rpc::Kind::response && is_modern_version(facts.version)) {
        throw HttpRefusal(bad_request, rpc::invalid_request,
                          "a client of this revision is asked nothing that it could answer");
    }
    if (message.kind != rpc::Kind::request) {
        return claims || is_modern_version(facts.version) ? Era::modern : Era::legacy;
    }
    if (claims) {
        check_modern(message, facts);
        return Era::modern;
    }
    if (message.method == "initialize") {
        if (is_modern_version(facts.version)) {
            throw HttpRefusal(bad_request, header_mismatch,
                              "Header mismatch: MCP-Protocol-Version is of a revision that has no "
                              "initialize");
        }
        return Era::legacy;
    }
    // Such a request is a modern one whose envelope is missing, whatever it is sent with.
    if (is_modern_version(facts.version) || message.method == "server/discover") {
        throw HttpRefusal(bad_request, rpc::invalid_params,
                          std::string("_meta[\"") + version_key + "\"] is missing");
    }
    check_legacy_version(facts);
    return Era::legacy;
}

void check_http_service(const Service& service, const rpc::Message& message, const HttpFacts& facts)
{
    if (!service.offers(message.method)) {
        refuse_method(message.method);
    }
    const auto* const name = message.method == "tools/call" ? name_in(message) : nullptr;
    if (name == nullptr) {
        return;
    }
    try {
        service.check_capabilities(*name, message.params->at("_meta").at(capabilities_key));
    } catch (const rpc::ProtocolError& error) {
        throw HttpRefusal(bad_request, error.code(), error.what(), error.data());
    }
    for (const auto& argument : service.header_arguments(*name)) {
        check_argument(message, argument, facts);
    }
}

void check_http_batch(const json& messages, const HttpFacts& facts)
{
    const bool is_old = std::ranges::all_of(messages, [](const json& message) {
        const auto params = message.is_object() ? message.find("params") : message.end();
        return !message.is_object() || params == message.end() || era_of(*params) == Era::legacy;
    });
    if (!is_old || is_modern_version(facts.version)) {
        throw HttpRefusal(bad_request, rpc::invalid_request,
                          "batches are not part of the protocol revision in use");
    }
    check_legacy_version(facts);
}

std::optional<std::string> decode_header(std::string_view value)
{
    constexpr std::string_view begin = "=?base64?";
    constexpr std::string_view end = "?=";
    // Bytes above that each reader on the way could take for other characters.
    if (std::ranges::any_of(value, [](char c) { return (c < ' ' && c != '\t') || c > '~'; })) {
        return std::nullopt;
    }
    if (!value.starts_with(begin) || !value.ends_with(end) ||
        value.size() < begin.size() + end.size()) {
        return std::string(value);
    }
    value.remove_prefix(begin.size());
    value.remove_suffix(end.size());
    auto text = base64_decode(value);
    return text && utf8::is_valid(*text) ? text : std::nullopt;
}

} // namespace berth::mcp

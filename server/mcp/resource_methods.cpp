#include "server/mcp/resource_methods.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/mcp/icons.hpp"
#include "server/mcp/parameters.hpp"
#include "server/mcp/results.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

namespace berth::mcp {
namespace {

using nlohmann::json;

/// Names are a user's files, and may be no UTF-8.
void put(json& object, const char* key, const std::string& text)
{
    if (!text.empty()) {
        object[key] = utf8::sanitize(text);
    }
}

json described(const Resource& resource, const RequestContext& context)
{
    json object{{"uri", resource.uri}, {"name", utf8::sanitize(resource.name)}};
    put(object, "title", resource.title);
    put(object, "description", resource.description);
    put(object, "mimeType", resource.mime_type);
    if (resource.size) {
        object["size"] = *resource.size;
    }
    if (!resource.modified.empty()) {
        object["annotations"] = {{"lastModified", resource.modified}};
    }
    put_icons(object, resource.drawing, context);
    return object;
}

/// A cursor is ours alone: clients are told nothing by it, and break nothing that is sent in JSON.
std::string from_cursor(const json& params)
{
    const auto cursor = params.find("cursor");
    if (cursor == params.end() || *cursor == "") {
        return {};
    }
    const auto from =
        cursor->is_string() ? base64_decode(cursor->get_ref<const std::string&>()) : std::nullopt;
    if (!from || from->empty()) {
        refuse_cursor();
    }
    return *from;
}

/// Of what the result has of it.
std::size_t body_size(const ResourceContent& content)
{
    return content.is_text ? rpc::quoted_size(content.bytes) : content.bytes.size() / 3 * 4 + 8;
}

} // namespace

std::string list_resources(Resources& resources, const RequestContext& context,
                           const Identity& identity)
{
    const auto from = from_cursor(context.params());
    ResourcePage page;
    try {
        page = resources.list(from, context.stop_token());
    } catch (const Error& error) {
        if (!from.empty() && error.code() == ErrorCode::invalid_argument) {
            refuse_cursor();
        }
        throw method_failure(error);
    }
    json members{{"resources", json::array()}};
    for (const auto& resource : page.resources) {
        members["resources"].push_back(described(resource, context));
    }
    if (!page.next.empty()) {
        members["nextCursor"] = base64_encode(page.next);
    }
    return result_of(members, context.era(), identity, cached_not);
}

std::string list_templates(Resources& resources, const RequestContext& context,
                           const Identity& identity)
{
    require_first_page(context.params());
    json members{{"resourceTemplates", json::array()}};
    for (const auto& each : resources.templates()) {
        json object{{"uriTemplate", each.uri}, {"name", each.name}};
        put(object, "title", each.title);
        put(object, "description", each.description);
        put(object, "mimeType", each.mime_type);
        put_icons(object, each.drawing, context);
        members["resourceTemplates"].push_back(std::move(object));
    }
    return result_of(members, context.era(), identity, cached_long);
}

/// Not through a document: a body is large, and copied once.
std::string read_resource(Resources& resources, const RequestContext& context,
                          const Identity& identity)
{
    const auto& uri = string_parameter(context.params(), "uri", "resources/read");
    ResourceContent content;
    std::string text = begin_result(context.era(), identity) + R"(},"contents":[{"uri":)";
    try {
        content = resources.read(uri, context.stop_token(),
                                 [&](std::size_t bytes) { context.call()->hold(bytes); });
        // The result, and the message that it is put into.
        const auto body = body_size(content);
        context.call()->hold(2 * body);
        constexpr std::size_t around = 1024;
        text.reserve(text.size() + body + rpc::quoted_size(uri) + around);
    } catch (const Error& error) {
        throw resource_failure(error, uri, context.era());
    }
    rpc::append_quoted(text, uri);
    if (!content.mime_type.empty()) {
        text += R"(,"mimeType":)";
        rpc::append_quoted(text, content.mime_type);
    }
    if (content.is_text) {
        text += R"(,"text":)";
        rpc::append_quoted(text, content.bytes);
    } else {
        text += R"(,"blob":")" + base64_encode(content.bytes) + '"';
    }
    std::string().swap(content.bytes); // twice is enough to hold; `= {}` would free nothing
    text += "}]";
    text += cache_members(context.era(), cached_not);
    return text + '}';
}

} // namespace berth::mcp

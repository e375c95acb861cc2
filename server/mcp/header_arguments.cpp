#include "server/mcp/header_arguments.hpp"

#include "sandbox/base/small_letters.hpp"

#include <nlohmann/json.hpp>

namespace berth::mcp {
namespace {

using nlohmann::json;

void collect(const json& schema, std::vector<std::string>& path, std::vector<HeaderArgument>& found)
{
    const auto properties = schema.is_object() ? schema.find("properties") : schema.end();
    if (!schema.is_object() || properties == schema.end() || !properties->is_object()) {
        return;
    }
    for (const auto& [name, property] : properties->items()) {
        path.push_back(name);
        if (const auto header =
                property.is_object() ? property.find("x-mcp-header") : property.end();
            property.is_object() && header != property.end() && header->is_string()) {
            found.push_back({path, in_small_letters(header->get_ref<const std::string&>())});
        }
        collect(property, path, found);
        path.pop_back();
    }
}

} // namespace

std::vector<HeaderArgument> header_arguments_of(const json& input_schema)
{
    std::vector<HeaderArgument> found;
    std::vector<std::string> path;
    collect(input_schema, path, found);
    return found;
}

std::optional<std::string> header_text(const json& arguments, const HeaderArgument& argument)
{
    const json* value = &arguments;
    for (const auto& name : argument.path) {
        const auto member = value->is_object() ? value->find(name) : value->end();
        if (!value->is_object() || member == value->end()) {
            return std::nullopt;
        }
        value = &*member;
    }
    if (value->is_string()) {
        return value->get<std::string>();
    }
    return value->is_number() || value->is_boolean() ? std::optional(value->dump()) : std::nullopt;
}

} // namespace berth::mcp

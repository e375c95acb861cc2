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

/// "42" of "42.0".
std::string_view without_fraction(std::string_view number)
{
    const auto point = number.find('.');
    const auto zeros = point == std::string_view::npos ? "" : number.substr(point + 1);
    return !zeros.empty() && zeros.find_first_not_of('0') == std::string_view::npos
               ? number.substr(0, point)
               : number;
}

} // namespace

std::vector<HeaderArgument> header_arguments_of(const json& input_schema)
{
    std::vector<HeaderArgument> found;
    std::vector<std::string> path;
    collect(input_schema, path, found);
    return found;
}

std::optional<HeaderText> header_text(const json& arguments, const HeaderArgument& argument)
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
        return HeaderText{value->get<std::string>()};
    }
    if (value->is_number() || value->is_boolean()) {
        return HeaderText{value->dump(), value->is_number()};
    }
    return std::nullopt;
}

bool is_said(const HeaderText& expected, std::string_view said)
{
    return said == expected.text ||
           (expected.is_number && without_fraction(said) == without_fraction(expected.text));
}

} // namespace berth::mcp

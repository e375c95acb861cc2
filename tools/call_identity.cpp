#include "tools/call_identity.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "tools/dialect.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

namespace berth::tools {
namespace {

using nlohmann::json;

void feed_text(Sha256& hash, char kind, std::string_view text)
{
    // With the length, so that no two sequences of texts read the same.
    hash.update(kind + std::to_string(text.size()) + ':');
    hash.update(text);
}

/// Piece by piece: the text of a whole document may be as large as a request. Members come sorted.
void feed(Sha256& hash, const json& value)
{
    if (value.is_string()) {
        feed_text(hash, 's', value.get_ref<const std::string&>());
    } else if (value.is_object()) {
        hash.update("{");
        for (auto member = value.begin(); member != value.end(); ++member) {
            feed_text(hash, 'k', member.key());
            feed(hash, *member);
        }
        hash.update("}");
    } else if (value.is_array()) {
        hash.update("[");
        for (const auto& element : value) {
            feed(hash, element);
        }
        hash.update("]");
    } else {
        feed_text(hash, 'v', value.dump());
    }
}

json canonical_form(const Entry& tool, const json& arguments, const Settings& settings)
{
    auto form = own_form(tool, arguments, settings);
    if (form.is_object()) {
        form.erase(std::string(tool.without_effect));
    }
    return form;
}

} // namespace

json own_form(const Entry& tool, const json& arguments, const Settings& settings)
{
    try {
        const auto own =
            tool.line == nullptr ? arguments : own_arguments(*tool.line, arguments, settings);
        return tool.canonical == nullptr ? own : tool.canonical(own);
    } catch (const Error&) {
        return arguments;
    }
}

std::string call_identity(const Entry& tool, const json& arguments, const Settings& settings)
{
    Sha256 hash;
    feed(hash, canonical_form(tool, arguments, settings));
    return std::string(own_name(tool)) + ' ' + hash.finish();
}

} // namespace berth::tools

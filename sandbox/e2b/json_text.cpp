#include "sandbox/e2b/json_text.hpp"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace berth::e2b {
namespace {

using nlohmann::json;

constexpr int deepest = 32;

struct TooDeep : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace

std::optional<json> parse_json(std::string_view text)
try {
    auto value = json::parse(
        text,
        [](int depth, json::parse_event_t, json&) {
            if (depth > deepest) {
                throw TooDeep("nested too deeply");
            }
            return true;
        },
        false);
    return value.is_discarded() ? std::nullopt : std::optional(std::move(value));
} catch (const TooDeep&) {
    return std::nullopt;
}

std::string json_text(const json& value)
{
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string text_at(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace berth::e2b

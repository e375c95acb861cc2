#include "server/mcp/error_details.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::mcp {
namespace {

using nlohmann::json;

enum class Type : unsigned char { text, number, numbers, truth };

struct Typed {
    std::string_view key;
    Type type;
};

constexpr std::array typed = {
    Typed{"available_bytes", Type::number}, Typed{"count", Type::number},
    Typed{"cut_off.bytes", Type::number},   Typed{"cut_off.certain", Type::truth},
    Typed{"limit_bytes", Type::number},     Typed{"lines", Type::numbers},
    Typed{"retry_after", Type::number},     Typed{"used_bytes", Type::number},
};

Type type_of(std::string_view key)
{
    const auto* const found = std::ranges::find(typed, key, &Typed::key);
    return found == typed.end() ? Type::text : found->type;
}

/// Null: it is none.
json number(std::string_view text)
{
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size() ? json(value) : json();
}

/// "1, 2,3"; null: one of them is none.
json numbers(std::string_view text)
{
    json list = json::array();
    for (;;) {
        const auto comma = std::min(text.find(','), text.size());
        auto one = number(text.substr(0, comma));
        if (one.is_null()) {
            return one;
        }
        list.push_back(std::move(one));
        if (comma == text.size()) {
            return list;
        }
        text.remove_prefix(std::min(text.find_first_not_of(' ', comma + 1), text.size()));
    }
}

json value_of(std::string_view key, const std::string& text)
{
    switch (type_of(key)) {
    case Type::number:
        return number(text);
    case Type::numbers:
        return numbers(text);
    case Type::truth:
        return text == "true" || text == "false" ? json(text == "true") : json();
    case Type::text:
        break;
    }
    return text;
}

} // namespace

json details_of(const Error& error)
{
    json details = json::object();
    for (const auto& [key, text] : error.details()) {
        auto value = value_of(key, text);
        if (value.is_null()) {
            continue;
        }
        const auto stop = key.find('.');
        if (stop == key.npos) {
            details[key] = std::move(value);
            continue;
        }
        auto& object = details[key.substr(0, stop)];
        if (!object.is_object()) {
            object = json::object();
        }
        object[key.substr(stop + 1)] = std::move(value);
    }
    if (error.code() == ErrorCode::busy && !details.contains("retry_after")) {
        details["retry_after"] = usual_retry;
    }
    return details;
}

json protocol_data(const Error& error)
{
    json data{{"code", to_string(error.code())}};
    if (!error.hint().empty()) {
        data["hint"] = error.hint();
    }
    const auto details = details_of(error);
    if (const auto seconds = details.find("retry_after"); seconds != details.end()) {
        data["retry_after"] = *seconds;
    }
    return data;
}

} // namespace berth::mcp

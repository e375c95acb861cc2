#include "tools/decode.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/spelling.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace berth::tools {
namespace {

using nlohmann::json;

/// For a message: short enough for a line, whole enough to be recognised.
std::string in_quotes(const std::string& text)
{
    constexpr std::size_t shown = 40;
    const std::string cut(utf8::prefix_bytes(text, shown));
    return visible(json(cut + (cut.size() < text.size() ? "…" : ""))
                       .dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string describe_value(const json& value)
{
    switch (value.type()) {
    case json::value_t::string:
        return "the string " + in_quotes(value.get_ref<const std::string&>());
    case json::value_t::object:
        return "an object";
    case json::value_t::array:
        return "a list";
    case json::value_t::null:
        return "null";
    case json::value_t::boolean:
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
    case json::value_t::number_float:
        return value.dump();
    case json::value_t::binary:
    case json::value_t::discarded:
        break;
    }
    return "nothing";
}

/// JSON Schema's integer: 120 and 120.0 are the same number. Saturates.
std::optional<std::int64_t> whole_number(const json& value)
{
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        return number > static_cast<std::uint64_t>(largest) ? largest
                                                            : static_cast<std::int64_t>(number);
    }
    if (value.is_number_integer()) {
        return value.get<std::int64_t>();
    }
    if (!value.is_number_float()) {
        return std::nullopt;
    }
    const double number = value.get<double>();
    if (!std::isfinite(number) || std::trunc(number) != number) {
        return std::nullopt;
    }
    constexpr double limit = 9.0e18;
    if (std::abs(number) > limit) {
        return number > 0 ? largest : -largest;
    }
    return static_cast<std::int64_t>(number);
}

std::string element(std::string_view key, std::size_t index)
{
    return std::string(key) + '[' + std::to_string(index) + ']';
}

/// The choice that was probably meant, which may have been mistyped in its other spelling.
std::string near_word(const std::string& word, std::string_view key,
                      const std::vector<std::string>& choices, std::span<const Alias> spellings)
{
    auto known = choices;
    for (const auto& alias : spellings) {
        if (alias.from == key && !alias.value.empty()) {
            known.emplace_back(alias.value);
        }
    }
    const auto near = nearest(word, known);
    const auto other = std::ranges::find_if(spellings, [&](const Alias& alias) {
        return alias.from == key && !near.empty() && alias.value == near;
    });
    return other == spellings.end() ? near : std::string(other->to);
}

/// `above`: to one that gave too much, "or more" would say the opposite.
std::string allowed(const Range& range, bool above = false)
{
    return "Allowed: " + std::to_string(range.minimum) +
           (range.maximum >= max_count && !above ? " or more."
                                                 : " to " + std::to_string(range.maximum) + '.');
}

} // namespace

Decoder::Decoder(const json& object, std::string place) : object_(&object), place_(std::move(place))
{
    if (!object.is_object()) {
        problem_ = Error(ErrorCode::invalid_argument,
                         (place_.empty() ? "the arguments" : place_) +
                             ": expected an object, got " + describe_value(object),
                         "Write it as {\"NAME\": VALUE, ...}.");
    }
}

bool Decoder::has(std::string_view key) const
{
    return object_->is_object() && object_->contains(key);
}

const json* Decoder::find(std::string_view key)
{
    known_.emplace_back(key);
    if (!object_->is_object()) {
        return nullptr;
    }
    const auto found = object_->find(key);
    return found == object_->end() ? nullptr : &*found;
}

std::string Decoder::at(std::string_view key) const
{
    constexpr std::size_t shown = 64; // a key may be as long as the whole request
    return place_ + (place_.empty() ? "" : ".") + std::string(utf8::prefix_bytes(key, shown));
}

void Decoder::complain(std::string_view key, const std::string& what, std::string hint)
{
    if (!problem_) {
        problem_ = Error(ErrorCode::invalid_argument, at(key) + ": " + what, std::move(hint));
    }
}

void Decoder::wrong_type(std::string_view key, const json& got, std::string_view expected)
{
    complain(key, "expected " + std::string(expected) + ", got " + describe_value(got),
             "Send " + at(key) + " as " + std::string(expected) + '.');
}

bool Decoder::take_string(std::string_view key, const json& value, std::string& to, Length length)
{
    if (!value.is_string()) {
        wrong_type(key, value, "a string");
        return false;
    }
    if (value.get_ref<const std::string&>().size() < length.minimum) {
        complain(key, "may not be empty",
                 "Allowed: a text of at least one character; leave it out where it is optional.");
        return false;
    }
    to = value.get<std::string>();
    return true;
}

void Decoder::required(std::string_view key, std::string& to, Length length)
{
    if (const json* value = find(key)) {
        take_string(key, *value, to, length);
    } else {
        missing_.emplace_back(key);
    }
}

void Decoder::optional(std::string_view key, std::string& to, Length length)
{
    if (const json* value = find(key)) {
        take_string(key, *value, to, length);
    }
}

void Decoder::optional(std::string_view key, std::optional<std::string>& to, Length length)
{
    if (const json* value = find(key)) {
        take_string(key, *value, to.emplace(), length);
    }
}

void Decoder::optional(std::string_view key, bool& to)
{
    const json* value = find(key);
    if (value == nullptr) {
        return;
    }
    if (!value->is_boolean()) {
        wrong_type(key, *value, "true or false");
        return;
    }
    to = value->get<bool>();
}

std::optional<std::int64_t> Decoder::take_integer(std::string_view key, const Range& range)
{
    const json* value = find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    const auto number = whole_number(*value);
    if (!number) {
        wrong_type(key, *value, "a whole number");
        return std::nullopt;
    }
    if (*number < range.minimum) {
        complain(key, value->dump() + " is below the minimum of " + std::to_string(range.minimum),
                 allowed(range));
        return std::nullopt;
    }
    if (*number > range.maximum) {
        complain(key, value->dump() + " is above the maximum of " + std::to_string(range.maximum),
                 range.hint_above != nullptr ? range.hint_above(*number) : allowed(range, true));
        return std::nullopt;
    }
    return number;
}

void Decoder::optional(std::string_view key, std::int64_t& to, const Range& range)
{
    to = take_integer(key, range).value_or(to);
}

void Decoder::optional(std::string_view key, std::optional<std::int64_t>& to, const Range& range)
{
    if (const auto number = take_integer(key, range)) {
        to = number;
    }
}

void Decoder::optional(std::string_view key, std::map<std::string, std::string>& to)
{
    const json* value = find(key);
    if (value == nullptr) {
        return;
    }
    if (!value->is_object()) {
        wrong_type(key, *value, "an object of strings");
        return;
    }
    for (const auto& [name, member] : value->items()) {
        if (!member.is_string()) {
            Decoder inner(*value, at(key));
            inner.wrong_type(name, member, "a string");
            if (!problem_) {
                problem_ = std::move(inner.problem_);
            }
            return;
        }
        to.insert_or_assign(name, member.get<std::string>());
    }
}

void Decoder::string_or_list(std::string_view key, std::vector<std::string>& to, std::size_t most)
{
    const json* value = find(key);
    if (value == nullptr) {
        return;
    }
    if (!value->is_array()) {
        if (value->is_string()) {
            take_string(key, *value, to.emplace_back(), Length{1});
        } else {
            wrong_type(key, *value, "a string or a list of strings");
        }
        return;
    }
    if (value->size() > most) {
        complain(key, std::to_string(value->size()) + " elements",
                 "Allowed: at most " + std::to_string(most) + '.');
        return;
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
        take_string(element(key, i), (*value)[i], to.emplace_back(), Length{1});
    }
}

void Decoder::sha256(std::string_view key, std::string& to)
{
    constexpr std::size_t most_digits = 64;
    constexpr std::size_t fewest_digits = 12; // as many as the texts of results show
    std::optional<std::string> text;
    optional(key, text);
    if (!text) {
        return;
    }
    const bool hex = std::all_of(text->begin(), text->end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
    if (text->size() < fewest_digits || text->size() > most_digits || !hex) {
        complain(key,
                 "expected the first 12 or more hex digits of a SHA-256, got " + in_quotes(*text),
                 "The results of read_file, write_file and edit_file name it.");
        return;
    }
    to = *text;
    std::transform(to.begin(), to.end(), to.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
}

std::optional<std::size_t> Decoder::word_index(std::string_view key,
                                               const std::vector<std::string_view>& words,
                                               std::span<const Alias> spellings)
{
    const json* value = find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    const auto found = value->is_string() ? std::find(words.begin(), words.end(),
                                                      value->get_ref<const std::string&>())
                                          : words.end();
    if (found != words.end()) {
        return static_cast<std::size_t>(found - words.begin());
    }
    const std::vector<std::string> choices(words.begin(), words.end());
    const std::string expected = "one of " + joined(choices);
    const auto near = value->is_string()
                          ? near_word(value->get_ref<const std::string&>(), key, choices, spellings)
                          : "";
    complain(key, "expected " + expected + ", got " + describe_value(*value),
             near.empty() ? "Send " + at(key) + " as " + expected + '.'
                          : "Did you mean " + near + '?');
    return std::nullopt;
}

std::vector<Decoder> Decoder::elements(std::string_view key, std::size_t most)
{
    const json* value = find(key);
    if (value == nullptr) {
        return {};
    }
    if (!value->is_array()) {
        wrong_type(key, *value, "a list of objects");
        return {};
    }
    if (value->empty() || value->size() > most) {
        complain(key,
                 "expected 1 to " + std::to_string(most) + " elements, got " +
                     std::to_string(value->size()),
                 "Put at least one into the list, or make several calls.");
        return {};
    }
    std::vector<Decoder> result;
    result.reserve(value->size());
    for (std::size_t i = 0; i < value->size(); ++i) {
        result.emplace_back((*value)[i], element(at(key), i));
    }
    return result;
}

std::optional<Error> Decoder::unknown_member() const
{
    if (!object_->is_object()) {
        return std::nullopt;
    }
    for (const auto& [name, value] : object_->items()) {
        if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
            const auto near = nearest(name, known_);
            return Error(ErrorCode::invalid_argument,
                         visible(at(name)) + ": there is no argument of this name" +
                             (near.empty() ? "" : "; did you mean " + near + "?"),
                         known_.empty() ? "It takes no arguments."
                                        : "It takes: " + joined(known_) + ".");
        }
    }
    return std::nullopt;
}

Error Decoder::missing_members() const
{
    std::vector<std::string> arrived;
    for (const auto& [name, value] : object_->items()) {
        arrived.push_back(name);
    }
    const bool has_content =
        std::find(missing_.begin(), missing_.end(), "content") != missing_.end();
    const std::string where = place_.empty() ? "" : place_ + ": ";
    // What is long is what is cut off.
    const std::string hint =
        has_content ? "If the call was cut off because it was too long, send the content in "
                      "pieces: write_file with a part of it, then more calls with mode append."
                    : "Send the call again with " + joined(missing_) +
                          "; a call that is too long arrives cut off.";
    if (arrived.empty()) {
        return {ErrorCode::invalid_argument,
                where + "no arguments arrived; needed: " + joined(missing_), hint};
    }
    return {ErrorCode::invalid_argument,
            where + "missing: " + joined(missing_) + "; arrived: " + joined(arrived), hint};
}

std::optional<Error> Decoder::problem()
{
    // An unknown name explains a missing one, so it comes first.
    if (auto unknown = unknown_member()) {
        return unknown;
    }
    if (problem_) {
        return problem_;
    }
    if (!missing_.empty()) {
        return missing_members();
    }
    return std::nullopt;
}

void Decoder::finish()
{
    if (auto error = problem()) {
        throw std::move(*error);
    }
}

} // namespace berth::tools

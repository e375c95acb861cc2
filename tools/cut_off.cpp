#include "tools/cut_off.hpp"

#include "sandbox/base/cut_off.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/spelling.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/dialect.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace berth::tools {
namespace {

using nlohmann::json;

constexpr std::string_view general_advice =
    "Nothing of it was done. Send the call again, whole. What is too long for one call goes in "
    "pieces: write_file writes a large file in pieces, the first as usual and the others with mode "
    "\"append\".";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> advice = {{
    {"bash_exec", "Nothing of it was run. If the command is too long for one call, write it to a "
                  "file in pieces (write_file, then write_file with mode \"append\") and run that "
                  "with bash FILE; else send the call again, whole."},
    {"bash_input", "Nothing of it was sent. A long input goes in several calls, with close in the "
                   "last; else send the call again, whole."},
    {"edit_file", "Nothing of it was done. If the call is too long, make several that change less "
                  "each: a long new text comes in pieces as well, each edit adding the next lines "
                  "behind those of the one before. Else send the call again, whole."},
    {"write_file", "Nothing of it was written. If the content is too long for one call, send it in "
                   "pieces: write_file with the first part, then more calls with mode \"append\", "
                   "each with the next. Else send the call again, whole."},
}};

enum class Whole : unsigned char { yes, cut, damaged };

/// Takes a document and keeps nothing of it: it may be large, and as deep as it is long.
class Taker final : public json::json_sax_t {
  public:
    explicit Taker(std::size_t size) : size_(size) {}

    /// Whether what was wrong is only that the text ends.
    [[nodiscard]] bool ended_early() const noexcept { return ended_early_; }

    bool null() override { return true; }

    bool boolean(bool /*value*/) override { return true; }

    bool number_integer(number_integer_t /*value*/) override { return true; }

    bool number_unsigned(number_unsigned_t /*value*/) override { return true; }

    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }

    bool string(string_t& /*value*/) override { return true; }

    bool binary(binary_t& /*value*/) override { return true; }

    bool start_object(std::size_t /*members*/) override { return true; }

    bool key(string_t& /*key*/) override { return true; }

    bool end_object() override { return true; }

    bool start_array(std::size_t /*elements*/) override { return true; }

    bool end_array() override { return true; }

    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const json::exception& error) override
    {
        constexpr int of_syntax = 101; // not a number that is too large
        ended_early_ = error.id == of_syntax && position > size_;
        return false;
    }

  private:
    std::size_t size_;
    bool ended_early_ = false;
};

/// Whether the text is a JSON document, the beginning of one, or neither.
Whole wholeness(const std::string& text)
{
    Taker taker(text.size());
    if (json::sax_parse(text, &taker)) {
        return Whole::yes;
    }
    return taker.ended_early() ? Whole::cut : Whole::damaged;
}

/// {" as every object of arguments begins; not a command's "{ echo", nor a glob's "{a,b}".
bool begins_object(const std::string& text)
{
    constexpr std::string_view blanks = " \t\r\n";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string::npos || text[first] != '{') {
        return false;
    }
    const auto next = text.find_first_not_of(blanks, first + 1);
    return next != std::string::npos && (text[next] == '"' || text[next] == '}');
}

Error refusal(const std::string& what, std::string hint)
{
    return {ErrorCode::invalid_argument, what, std::move(hint)};
}

std::string pieces(const Entry& tool)
{
    return in_words_of(tool.dialect, advice_for_pieces(own_name(tool)));
}

/// What the tool cannot do without; for edit_file the schema cannot say it.
std::string needed(const Entry& tool)
{
    const auto schema = json::parse(tool.input_schema);
    std::string names;
    if (const auto required = schema.find("required"); required != schema.end()) {
        for (const auto& name : *required) {
            names += (names.empty() ? "" : ", ") + name.get<std::string>();
        }
    }
    return names.empty() && tool.name == "edit_file" ? "path, old_text, new_text" : names;
}

std::string in_brackets(const std::string& names)
{
    return names.empty() ? "" : " (needed: " + names + ')';
}

/// `wrapper`: the argument that the text is in; without one it came in place of the arguments.
Error refuse_text(const Entry& tool, const std::string& text,
                  const std::optional<std::string>& wrapper = {})
{
    const CutOff cut_off{.arrived_as = wrapper ? "wrapper" : "string",
                         .bytes = text.size(),
                         .argument = wrapper.value_or("")};
    const std::string came =
        "the arguments came as a string" +
        (wrapper ? " in " + visible(json(*wrapper).dump()) + in_brackets(needed(tool)) : "");
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return with_cut_off(refusal(came + " that is empty", pieces(tool)), cut_off);
    }
    switch (wholeness(text)) {
    case Whole::yes:
        return refusal(came, "Nothing of it was done. Send the arguments as an object.");
    case Whole::damaged:
        return refusal(came + ", and it is no valid JSON",
                       "Nothing of it was done. Send the arguments as an object.");
    case Whole::cut:
        break;
    }
    return with_cut_off(refusal("the call arrived cut off: " + came +
                                    ", which ends in the middle, after " +
                                    counted(text.size(), "byte"),
                                pieces(tool)),
                        cut_off);
}

/// The text in a wrapper: a string, or the first string that begins an object within an object.
const std::string* wrapped_text(const json& value)
{
    if (value.is_string() && begins_object(value.get_ref<const std::string&>())) {
        return &value.get_ref<const std::string&>();
    }
    if (value.is_object()) {
        for (const auto& member : value) {
            if (member.is_string() && begins_object(member.get_ref<const std::string&>())) {
                return &member.get_ref<const std::string&>();
            }
        }
    }
    return nullptr;
}

/// Whether a member is an argument of the tool, perhaps mistyped, which will then say itself what
/// is wrong.
bool has_argument(const json& arguments, const json& properties)
{
    std::vector<std::string> names;
    for (auto property = properties.begin(); property != properties.end(); ++property) {
        names.push_back(property.key());
    }
    for (auto member = arguments.begin(); member != arguments.end(); ++member) {
        if (properties.contains(member.key()) || !nearest(member.key(), names).empty()) {
            return true;
        }
    }
    return false;
}

json properties_of(const Entry& tool)
{
    return json::parse(tool.input_schema).value("properties", json::object());
}

/// Under any of their names; those of a dialect are all in its schema.
bool has_argument(const Entry& tool, const json& arguments)
{
    const auto properties = properties_of(tool);
    if (has_argument(arguments, properties)) {
        return true;
    }
    try {
        return tool.line == nullptr && has_argument(tool.canonical(arguments), properties);
    } catch (const Error&) { // it knows them well enough to object
        return true;
    }
}

/// Whether the first key in the text of an object is an argument of the tool, as far as the text
/// goes. Any other object is content of an argument whose name is wrong, and no wrapped call.
bool holds_arguments(const Entry& tool, const std::string& text)
{
    const auto begin = text.find('"');
    if (begin == std::string::npos) {
        return false;
    }
    const auto end = text.find('"', begin + 1);
    const auto key = text.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    const auto properties = properties_of(tool);
    if (end == std::string::npos) {
        return std::ranges::any_of(properties.items(), [&](const auto& property) {
            return property.key().starts_with(key);
        });
    }
    if (properties.contains(key)) {
        return true;
    }
    try {
        const auto own = tool.line == nullptr ? tool.canonical({{key, ""}}) : json::object();
        return std::ranges::any_of(own.items(), [&](const auto& member) {
            return member.key() != key && properties.contains(member.key());
        });
    } catch (const Error&) { // it knows the key well enough to object
        return true;
    }
}

void refuse_wrapper(const Entry& tool, const json& arguments)
{
    constexpr std::size_t most_members = 4; // beside the text its length, an error …
    if (arguments.size() > most_members) {
        return;
    }
    for (auto member = arguments.begin(); member != arguments.end(); ++member) {
        const auto* text = wrapped_text(*member);
        if (text != nullptr && holds_arguments(tool, *text) && !has_argument(tool, arguments)) {
            constexpr std::size_t shown = 64;
            throw refuse_text(tool, *text, std::string(utf8::prefix_bytes(member.key(), shown)));
        }
    }
}

} // namespace

std::string_view advice_for_pieces(std::string_view tool)
{
    const auto* const found = std::find_if(advice.begin(), advice.end(),
                                           [&](const auto& row) { return row.first == tool; });
    return found == advice.end() ? general_advice : found->second;
}

void refuse_cut_off(const Entry& tool, const json& arguments)
{
    if (arguments.is_string()) {
        throw refuse_text(tool, arguments.get_ref<const std::string&>());
    }
    if (!arguments.is_object()) {
        return; // the tool says it
    }
    if (!arguments.empty()) {
        refuse_wrapper(tool, arguments);
        return;
    }
    if (const auto names = needed(tool); !names.empty()) {
        const bool long_ones = advice_for_pieces(own_name(tool)) != general_advice;
        const std::string nothing = "no arguments arrived, needed: " + names;
        if (!long_ones) {
            throw refusal(nothing, "Send the call again with " + names + '.');
        }
        throw with_cut_off(refusal(nothing + "; the call was probably cut off", pieces(tool)),
                           {.arrived_as = "nothing", .certain = false});
    }
}

} // namespace berth::tools

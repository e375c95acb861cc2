#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

// Write and Edit.

namespace berth::tools::claude {
namespace {

using nlohmann::json;

/// The path is the caller's, as it was given.
std::string changed(const json& arguments, const char* before, const char* behind)
{
    return before + visible(arguments.at("file_path").get_ref<const std::string&>()) + behind +
           " (file state is current in your context — no need to Read it back)";
}

/// The text that an error is about, as far as it helps to recognise it.
std::string searched(const json& arguments)
{
    constexpr std::size_t shown = 1000;
    const auto& text = arguments.at("old_string").get_ref<const std::string&>();
    const auto cut = utf8::prefix_bytes(text, shown);
    return "\nString: " + utf8::sanitize(cut) + (cut.size() < text.size() ? "…" : "");
}

Error explain_several(const json& arguments, const Error& error)
{
    const auto detail = [&](const char* key) {
        const auto found = error.details().find(key);
        return found == error.details().end() ? std::string() : found->second;
    };
    return with_facts_of(
        error, Error(error.code(),
                     "Found " + detail("count") +
                         " matches of the string to replace, but replace_all is false. To replace "
                         "all occurrences, set replace_all to true. To replace only one "
                         "occurrence, please provide more context to uniquely identify the "
                         "instance." +
                         searched(arguments),
                     "The matches are on these lines: " + detail("lines") + "."));
}

/// The hint shows lines of the file, which may say anything: only what the tool says of its
/// argument is changed.
Error explain_none(const json& arguments, const Error& error)
{
    constexpr std::string_view own = "old_text";
    constexpr std::string_view offer = ": tolerant = true looks through that;";
    std::string hint = error.hint();
    if (const auto at = hint.find(offer); at < hint.find('`')) {
        hint.replace(at, offer.size(), ": copy it from there;");
    }
    for (const std::string_view phrase :
         {" in old_text): `", "tabs where old_text has spaces: `",
          "spaces where old_text has tabs: `", "form: old_text has accents as characters of their",
          "(NFD), old_text composed letters (NFC): `"}) {
        for (auto at = hint.find(phrase); at != hint.npos; at = hint.find(phrase, at)) {
            hint.replace(at + phrase.find(own), own.size(), "old_string");
        }
    }
    return with_facts_of(
        error,
        Error(error.code(), "String to replace not found in file." + searched(arguments), hint));
}

} // namespace

std::string Write::describe(const Settings& /*settings*/, sandbox::Backend& /*backend*/)
{
    return "Writes a file of the sandbox, whole or not at all: a reader sees the old content or "
           "the new. Missing parent directories are made; a file that is there is replaced and "
           "keeps its mode. Works under the home directory, /tmp and writable mounts.\n\n"
           "Send a long file in pieces, the first with Write and the others appended with Bash: a "
           "call that is too long arrives cut off. For a change to a file use Edit.\n\n"
           "Example: {\"file_path\": \"notes/todo.md\", \"content\": \"# To do\\n\"}";
}

json Write::canonical(const json& arguments, const Settings& /*settings*/)
{
    std::string path;
    std::string content;
    Decoder in(arguments);
    in.required("file_path", path, Length{1});
    in.required("content", content);
    in.finish();
    return {{"path", std::move(path)}, {"content", std::move(content)}};
}

void Write::phrase(const json& arguments, const Settings& /*settings*/, Result& result)
{
    result.text = result.data->at("created") == true
                      ? changed(arguments, "File created successfully at: ", "")
                      : changed(arguments, "The file ", " has been updated successfully.");
}

std::string Edit::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Replaces exact text in a file of the sandbox. old_string must occur exactly once, with "
           "its indentation and without the line numbers of Read: take in enough lines around it, "
           "or set replace_all. An empty old_string creates a file, or fills one that is "
           "empty.\n\n"
           "Line ends (LF or CRLF), byte order mark, final newline and mode stay as they are. If "
           "the text is not found, the error shows the nearest lines; if it is found more than "
           "once, the line of each. Files up to " +
           limit_bytes(settings.edit_max_file) +
           ".\n\nExample: {\"file_path\": \"src/main.c\", \"old_string\": \"return 1;\", "
           "\"new_string\": \"return 0;\"}";
}

json Edit::canonical(const json& arguments, const Settings& /*settings*/)
{
    std::string path;
    std::string before;
    std::string after;
    bool all = false;
    Decoder in(arguments);
    in.required("file_path", path, Length{1});
    in.required("old_string", before);
    in.required("new_string", after);
    in.optional("replace_all", all);
    in.finish();
    if (before == after) {
        throw Error(ErrorCode::invalid_argument,
                    "No changes to make: old_string and new_string are exactly the same.",
                    "Give in new_string the text that should be there.");
    }
    json own{
        {"path", std::move(path)}, {"old_text", std::move(before)}, {"new_text", std::move(after)}};
    if (all) {
        own["replace_all"] = true;
    }
    return own;
}

void Edit::phrase(const json& arguments, const Settings& /*settings*/, Result& result)
{
    const auto* all = given(arguments, "replace_all");
    result.text = changed(arguments, "The file ",
                          all != nullptr && all->get<bool>()
                              ? " has been updated. All occurrences were successfully replaced."
                              : " has been updated successfully.");
}

std::optional<Error> Edit::explain(const json& arguments, const Error& error)
{
    if (error.code() == ErrorCode::text_not_found) {
        return explain_none(arguments, error);
    }
    if (error.code() == ErrorCode::ambiguous_match) {
        return explain_several(arguments, error);
    }
    const auto* text = given(arguments, "old_string");
    const bool is_there = std::string_view(error.what()).ends_with(" is not");
    if (error.code() == ErrorCode::invalid_argument && text != nullptr && *text == "" && is_there) {
        return with_facts_of(error,
                             Error(error.code(), "Cannot create new file - file already exists.",
                                   "Give the text to be replaced in old_string, or replace the "
                                   "whole file with Write."));
    }
    return explain_missing(error, "File does not exist.");
}

} // namespace berth::tools::claude

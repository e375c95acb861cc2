#include "sandbox/base/visible.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/claude/shown_path.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"
#include "tools/unreadable.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace berth::tools::claude {
namespace {

using nlohmann::json;

constexpr std::int64_t most_paths = 100;

/// Whether the search began at the pattern's own place and not at `path`: then what is found is no
/// continuation of that. All alternatives of a pattern begin in the same way.
bool begins_elsewhere(std::string_view pattern)
{
    pattern.remove_prefix(std::min(pattern.find_first_not_of('{'), pattern.size()));
    const bool here = pattern.starts_with("./");
    while (pattern.starts_with("./")) {
        pattern.remove_prefix(2);
    }
    return pattern.starts_with("../") ||
           (!here && (pattern.starts_with('/') || pattern.starts_with("~/")));
}

std::string unreadable(const json& data)
{
    const auto count = data.at("unreadable_directories").get<std::uint64_t>();
    return unreadable_phrase(count, data.at("unreadable_paths").get<std::vector<std::string>>());
}

} // namespace

std::string Glob::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Finds files of the sandbox by name, newest first, one path per line, at most " +
           std::to_string(std::min<std::uint64_t>(most_paths, settings.glob_limit)) +
           ". A pattern without a slash is a file name at any depth (*.py); one with a slash is "
           "relative to path (src/**/*.{c,h}). ** stands for any number of directories, hidden "
           "files are found, .git only if it is named (.git/**). Only files are listed; Grep finds "
           "files by their content.\n\n"
           "Paths are relative to the working directory unless path or pattern is absolute.\n\n"
           "Example: {\"pattern\": \"**/*_test.go\", \"path\": \"project\"}";
}

json Glob::canonical(const json& arguments, const Settings& settings)
{
    std::string pattern;
    std::string path;
    Decoder in(arguments);
    in.required("pattern", pattern, Length{1});
    in.optional("path", path, Length{1});
    in.finish();
    json own{{"pattern", pattern},
             {"limit",
              std::min<std::int64_t>(most_paths, static_cast<std::int64_t>(settings.glob_limit))}};
    if (!path.empty()) {
        own["path"] = path;
    }
    return own;
}

void Glob::phrase(const json& arguments, const Settings& /*settings*/, Result& result)
{
    const auto& data = *result.data;
    const auto total = data.at("total").get<std::uint64_t>();
    const auto listed = data.at("count").get<std::uint64_t>();
    const bool complete = data.at("complete") == true;
    std::string text = total == 0 ? "No files found\n" : "";
    const bool absolute = begins_elsewhere(arguments.value("pattern", ""));
    for (const auto& found : data.at("paths")) {
        const auto& path = found.get_ref<const std::string&>();
        text += (absolute ? visible(path) : shown_path(arguments, data, path)) + '\n';
    }
    if (listed < total) {
        text += "(Showing " + std::to_string(listed) + " of " + std::to_string(total) +
                (complete ? "" : " or more") + " matching files; " +
                std::to_string(total - listed) +
                " more are not listed. Narrow the pattern or path to see the rest.)\n";
    }
    const auto ignore_files = data.at("capped_ignore_files").get<std::uint64_t>();
    text += status_line({complete ? "" : "the search ran out of time: narrow the path",
                         total == 0 && data.at("git_left_out") == true
                             ? ".git is left out: name it in path or pattern (.git/**)"
                             : "",
                         unreadable(data),
                         ignore_files == 0
                             ? ""
                             : counted(ignore_files, "ignore file") + " too long to obey whole"});
    text.erase(text.find_last_not_of('\n') + 1);
    result.text = std::move(text);
}

std::optional<Error> Glob::explain(const json& arguments, const Error& error)
{
    const auto* path = given(arguments, "path");
    return path == nullptr
               ? std::nullopt
               : explain_missing(error, "Directory does not exist: " +
                                            visible(path->get_ref<const std::string&>()) + ".");
}

} // namespace berth::tools::claude

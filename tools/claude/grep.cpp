#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/claude/dialect.hpp"
#include "tools/decode.hpp"
#include "tools/grep_report.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace berth::tools::claude {
namespace {

using nlohmann::json;

constexpr Range context_range{0, 1000};

enum class Mode : unsigned char { content, files, count };

/// Throws what is wrong with the arguments, in their own names.
Mode check(const json& arguments)
{
    std::string text;
    std::optional<std::int64_t> number;
    bool flag = false;
    Mode mode = Mode::files;
    Decoder in(arguments);
    in.required("pattern", text, Length{1});
    for (const auto* name : {"path", "glob", "type"}) {
        in.optional(name, text, Length{1});
    }
    in.choice(
        "output_mode", mode,
        {{"content", Mode::content}, {"files_with_matches", Mode::files}, {"count", Mode::count}});
    for (const auto* name : {"-A", "-B", "-C", "context"}) {
        in.optional(name, number, context_range);
    }
    for (const auto* name : {"-n", "-i", "-o", "multiline"}) {
        in.optional(name, flag);
    }
    for (const auto* name : {"head_limit", "offset"}) {
        in.optional(name, number, Range{0, max_count});
    }
    in.finish();
    if (arguments.contains("-C") && arguments.contains("context") &&
        arguments["-C"] != arguments["context"]) {
        throw Error(ErrorCode::invalid_argument,
                    "context and -C are the same argument and have different values",
                    "Give only -C.");
    }
    return mode;
}

} // namespace

std::string Grep::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Searches the content of files in the sandbox, as ripgrep does. output_mode "
           "files_with_matches (the default) gives paths, content the lines as path:line:text "
           "(context lines as path-line-text, -- between groups), count the matches of each "
           "file.\n\n"
           "The pattern is a regular expression in RE2 syntax (no backreferences, no look-around; "
           "\\w, \\d, \\b are ASCII); with multiline a match may span lines. Files that .gitignore "
           "excludes are skipped, hidden ones are searched, binary ones are not. glob takes a glob "
           "(*.{c,h}), type a kind of file (py, cpp, rust). At most " +
           std::to_string(settings.grep_limit) +
           " lines or files unless head_limit says otherwise; a last line says so, and offset goes "
           "on from there. Paths are relative to the working directory unless path is "
           "absolute.\n\n"
           "Example: {\"pattern\": \"TODO|FIXME\", \"path\": \"src\", \"glob\": \"*.py\", "
           "\"output_mode\": \"content\", \"-C\": 2}";
}

json Grep::canonical(const json& arguments, const Settings& /*settings*/)
{
    const Mode mode = check(arguments);
    json own = renamed(arguments, "grep_files");
    own.erase("-n"); // the text is made here
    own["output_mode"] = mode == Mode::content ? "content"
                         : mode == Mode::files ? "files"
                                               : "count";
    if (mode == Mode::files) {
        own["newest_first"] = true;
    }
    if (const auto* multiline = given(arguments, "multiline");
        multiline != nullptr && multiline->get<bool>()) {
        const auto& pattern = arguments.at("pattern").get_ref<const std::string&>();
        own["pattern"] = (dot_stops_at_newline(pattern) ? "(?s)" : "") + pattern;
    }
    return own;
}

std::optional<Error> Grep::explain(const json& arguments, const Error& error)
{
    const auto* path = given(arguments, "path");
    return path == nullptr
               ? std::nullopt
               : explain_missing(error, "Path does not exist: " +
                                            visible(path->get_ref<const std::string&>()) + ".");
}

} // namespace berth::tools::claude

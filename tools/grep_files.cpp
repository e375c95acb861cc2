#include "tools/grep_files.hpp"

#include "tools/decode.hpp"
#include "tools/grep_report.hpp"
#include "tools/sandbox_call.hpp"
#include "tools/search_limits.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace berth::tools {
namespace {

constexpr Range context_range{0, 1000};
constexpr std::size_t most_globs = 100;

/// A match is always shown, so no line may take all that a result has.
std::uint64_t line_limit(const Settings& settings)
{
    return std::min(settings.grep_line, settings.output_budget / 2);
}

} // namespace

std::span<const Alias> GrepFiles::aliases()
{
    static constexpr std::array table = {
        Alias{"glob", "include"},
        Alias{"-i", "ignore_case"},
        Alias{"-A", "after"},
        Alias{"-B", "before"},
        Alias{"-C", "context"},
        Alias{"-o", "only_matching"},
        Alias{"-n", ""}, // lines are always numbered
        Alias{"head_limit", "limit"},
        Alias{.from = "output_mode", .to = "files", .value = "files_with_matches"},
    };
    return table;
}

GrepFiles::Args GrepFiles::decode(const nlohmann::json& arguments)
{
    using protocol::GrepMode;
    Args args;
    Decoder in(arguments);
    in.required("pattern", args.pattern, Length{1});
    in.optional("path", args.path, Length{1});
    in.string_or_list("include", args.include, most_globs);
    in.optional("type", args.type, Length{1});
    in.choice(
        "output_mode", args.mode,
        {{"content", GrepMode::content}, {"files", GrepMode::files}, {"count", GrepMode::count}},
        aliases());
    in.optional("before", args.before, context_range);
    in.optional("after", args.after, context_range);
    in.optional("context", args.context, context_range);
    in.optional("ignore_case", args.ignore_case);
    in.optional("fixed", args.fixed);
    in.optional("multiline", args.multiline);
    in.optional("only_matching", args.only_matching);
    in.optional("limit", args.limit, Range{0, max_count});
    in.optional("offset", args.offset, Range{0, max_count});
    in.optional("hidden", args.hidden);
    in.optional("no_ignore", args.no_ignore);
    in.optional("newest_first", args.newest_first);
    in.finish();
    return args;
}

std::string GrepFiles::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Searches the content of files in the sandbox, as ripgrep does. Lines come as "
           "path:line:text (context lines as path-line-text, -- between groups), with absolute "
           "paths; output_mode files gives paths only, count the matches of each file. The last "
           "line has the totals and says what was skipped and how to go on.\n\n"
           "The pattern is a regular expression in RE2 syntax (no backreferences, no look-around; "
           "\\w, \\d, \\b are ASCII); fixed searches for plain text. Files that .gitignore "
           "excludes are skipped (no_ignore "
           "searches them), hidden ones are searched, binary ones are not. include takes globs "
           "(*.{c,h}, !vendor/**), type a kind of file (py, cpp, rust). At most " +
           std::to_string(settings.grep_limit) +
           " lines unless limit says otherwise, each cut at " +
           std::to_string(line_limit(settings)) +
           " characters around the match.\n\nExample: {\"pattern\": \"TODO|FIXME\", \"path\": "
           "\"src\", \"include\": "
           "\"*.py\", \"context\": 2}";
}

protocol::GrepRequest GrepFiles::request(const Args& args, const Settings& settings)
{
    protocol::GrepRequest request;
    request.pattern = args.pattern;
    request.path = args.path;
    request.include = args.include;
    request.type = args.type;
    request.mode = args.mode;
    request.before = static_cast<std::uint32_t>(args.before.value_or(args.context));
    request.after = static_cast<std::uint32_t>(args.after.value_or(args.context));
    request.ignore_case = args.ignore_case;
    request.fixed = args.fixed;
    request.multiline = args.multiline;
    request.only_matching = args.only_matching;
    request.hidden = args.hidden;
    request.no_ignore = args.no_ignore;
    request.newest_first = args.newest_first;
    request.limit = list_limit(args.limit, settings.grep_limit, settings.output_budget);
    request.offset = static_cast<std::uint64_t>(args.offset);
    request.line_limit = line_limit(settings);
    // In bytes, for a text whose budget counts characters: what is too much is left out here.
    constexpr std::uint64_t widest_character = 4;
    request.budget = settings.output_budget * widest_character;
    request.time_limit = static_cast<std::uint64_t>(settings.search_time.count());
    return request;
}

Result GrepFiles::run(Context& context, const Args& args)
{
    const auto asked = request(args, context.settings);
    const auto reply = with_sandbox(
        context, [&](sandbox::Sandbox& sandbox) { return sandbox.grep(asked, context.stop); });
    return render(args, reply, context.settings);
}

Result GrepFiles::render(const Args& args, const protocol::GrepReply& reply,
                         const Settings& settings)
{
    GrepView view;
    view.pattern = args.pattern;
    view.mode = args.mode;
    view.offset = static_cast<std::uint64_t>(args.offset);
    view.groups = args.before.value_or(args.context) > 0 || args.after.value_or(args.context) > 0;
    view.no_ignore = args.no_ignore;
    view.word_edges = !args.fixed && (args.pattern.find("\\<") != std::string::npos ||
                                      args.pattern.find("\\>") != std::string::npos);
    view.chooses = !args.include.empty() || !args.type.empty();
    view.dot_stops_at_newline = args.multiline && !args.fixed && dot_stops_at_newline(args.pattern);
    view.budget = settings.output_budget;
    return grep_report(view, reply);
}

} // namespace berth::tools

#include "tools/glob_files.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"
#include "tools/search_limits.hpp"
#include "tools/unreadable.hpp"

#include <nlohmann/json.hpp>

#include <vector>

namespace berth::tools {
namespace {

std::string status(const protocol::GlobReply& reply, std::uint64_t listed,
                   const std::string& truncated_by)
{
    std::vector<std::string> parts;
    if (listed < reply.total) {
        parts.push_back("newest " + thousands(listed) + " of " + thousands(reply.total) +
                        (reply.complete ? "" : " or more") + " files" +
                        (truncated_by == "limit" ? "; raise limit or narrow the pattern"
                                                 : "; narrow the pattern or path"));
    }
    if (!reply.complete) {
        parts.emplace_back("the search ran out of time: not every directory was looked "
                           "at; narrow the path");
    }
    if (reply.ignored > 0) {
        parts.push_back(counted(reply.ignored, "file") + " skipped as ignored (respect_ignore)");
    }
    if (reply.total == 0 && reply.git_left_out) {
        parts.emplace_back(".git left out: name it in path or pattern (.git/**)");
    }
    parts.push_back(unreadable_phrase(reply.unreadable, reply.unreadable_paths));
    if (reply.capped_ignore_files > 0) {
        parts.push_back(counted(reply.capped_ignore_files, "ignore file") +
                        " too long to obey whole");
    }
    return status_line(parts);
}

} // namespace

std::span<const Alias> GlobFiles::aliases()
{
    return {};
}

GlobFiles::Args GlobFiles::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.required("pattern", args.pattern, Length{1});
    in.optional("path", args.path, Length{1});
    in.optional("limit", args.limit, Range{0, max_count});
    in.optional("respect_ignore", args.respect_ignore);
    in.finish();
    return args;
}

std::string GlobFiles::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Finds files of the sandbox by name, newest first, one absolute path per line (at "
           "most " +
           std::to_string(settings.glob_limit) +
           " unless limit says otherwise). A pattern without a slash is a file name at any depth "
           "(*.py); one with a slash is relative to path (src/**/*.{c,h}). ** stands for any "
           "number of directories, hidden files are found, .git only if it is named (.git/**), and "
           "respect_ignore leaves out what .gitignore excludes. Only files are listed: read_file "
           "lists a directory, and grep_files finds files by their content.\n\n"
           "Example: {\"pattern\": \"**/*_test.go\", \"path\": \"~/project\"}";
}

protocol::GlobRequest GlobFiles::request(const Args& args, const Settings& settings)
{
    protocol::GlobRequest request;
    request.pattern = args.pattern;
    request.path = args.path;
    request.limit = list_limit(args.limit, settings.glob_limit, settings.output_budget);
    request.respect_ignore = args.respect_ignore;
    request.time_limit = static_cast<std::uint64_t>(settings.search_time.count());
    return request;
}

Result GlobFiles::run(Context& context, const Args& args)
{
    const auto asked = request(args, context.settings);
    const auto reply = with_sandbox(
        context, [&](sandbox::Sandbox& sandbox) { return sandbox.glob(asked, context.stop); });
    return render(args, reply, context.settings);
}

Result GlobFiles::render(const Args& args, const protocol::GlobReply& reply,
                         const Settings& settings)
{
    std::string text;
    auto paths = nlohmann::json::array();
    std::uint64_t left = settings.output_budget;
    for (const auto& path : reply.paths) {
        const std::string line = visible(path) + "\n";
        const std::uint64_t needed = utf8::count(line);
        if (needed > left) {
            break;
        }
        left -= needed;
        text += line;
        paths.push_back(utf8::sanitize(path));
    }
    const std::uint64_t listed = paths.size();
    const std::string truncated_by = listed < reply.paths.size() ? "budget" : reply.truncated_by;
    if (reply.total == 0) {
        text = "No files found: nothing matches " + visible(args.pattern) + " in " +
               visible(reply.root) + "\n";
    }
    text += status(reply, listed, truncated_by);
    return {text, nlohmann::json{
                      {"message", counted(reply.total, "file") + " found"},
                      {"root", utf8::sanitize(reply.root)},
                      {"paths", std::move(paths)},
                      {"count", listed},
                      {"total", reply.total},
                      {"complete", reply.complete},
                      {"truncated_by", truncated_by},
                      {"unreadable_directories", reply.unreadable},
                      {"unreadable_paths", sanitized(reply.unreadable_paths)},
                      {"capped_ignore_files", reply.capped_ignore_files},
                      {"ignored_files", reply.ignored},
                      {"git_left_out", reply.git_left_out},
                  }};
}

} // namespace berth::tools

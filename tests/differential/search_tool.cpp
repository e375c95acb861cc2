// glob_files and grep_files on the command line, without a sandbox around them: what the
// differential tests and the bench compare with ripgrep, find and fd.
//
//   search-tool glob PATH PATTERN [field=value ...]
//   search-tool grep PATH PATTERN [field=value ...]
//
// Prints as ripgrep does (content: path:line:text; count: path:count; files: path), a summary on
// stderr. Exit status 2 for an Error.

#include "sandbox/base/error.hpp"
#include "sandbox/guest/operations.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace {

using namespace berth;

struct Fields {
    std::multimap<std::string, std::string, std::less<>> values;

    Fields(int count, char** arguments)
    {
        for (int i = 4; i < count; ++i) {
            const std::string argument = arguments[i];
            const std::size_t equals = argument.find('=');
            values.emplace(argument.substr(0, equals),
                           equals == std::string::npos ? "1" : argument.substr(equals + 1));
        }
    }

    [[nodiscard]] std::string text(std::string_view name) const
    {
        const auto found = values.find(name);
        return found == values.end() ? std::string() : found->second;
    }

    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t fallback = 0) const
    {
        const std::string value = text(name);
        return value.empty() ? fallback : std::strtoull(value.c_str(), nullptr, 10);
    }

    [[nodiscard]] bool flag(std::string_view name, bool fallback = false) const
    {
        return number(name, fallback ? 1 : 0) != 0;
    }
};

protocol::GrepRequest grep_request(const char* path, const char* pattern, const Fields& fields)
{
    protocol::GrepRequest request;
    request.path = path;
    request.pattern = pattern;
    const auto [begin, end] = fields.values.equal_range("include");
    for (auto it = begin; it != end; ++it) {
        request.include.push_back(it->second);
    }
    request.type = fields.text("type");
    const std::string mode = fields.text("mode");
    request.mode = mode == "files"   ? protocol::GrepMode::files
                   : mode == "count" ? protocol::GrepMode::count
                                     : protocol::GrepMode::content;
    request.before = static_cast<std::uint32_t>(fields.number("before"));
    request.after = static_cast<std::uint32_t>(fields.number("after"));
    request.ignore_case = fields.flag("ignore_case");
    request.fixed = fields.flag("fixed");
    request.multiline = fields.flag("multiline");
    request.only_matching = fields.flag("only_matching");
    request.hidden = fields.flag("hidden", true);
    request.no_ignore = fields.flag("no_ignore");
    request.limit = fields.number("limit");
    request.offset = fields.number("offset");
    request.line_limit = fields.number("line_limit");
    request.budget = fields.number("budget");
    request.time_limit = fields.number("time_limit");
    return request;
}

void print_lines(const protocol::GrepReply& reply, bool groups)
{
    bool first = true;
    for (const auto& file : reply.files) {
        bool first_of_file = true;
        for (const auto& line : file.lines) {
            if (groups && !first && (first_of_file || line.group_start)) {
                std::puts("--");
            }
            first = false;
            first_of_file = false;
            const char mark = line.is_match ? ':' : '-';
            std::printf("%s%c%llu%c", file.path.c_str(), mark,
                        static_cast<unsigned long long>(line.number), mark);
            std::fwrite(line.text.data(), 1, line.text.size(), stdout);
            std::puts(line.cut ? "[cut]" : "");
        }
    }
}

void print(const protocol::GrepReply& reply, const protocol::GrepRequest& request)
{
    if (request.mode == protocol::GrepMode::content) {
        print_lines(reply, request.before + request.after > 0);
    }
    for (const auto& file : reply.files) {
        if (request.mode == protocol::GrepMode::files) {
            std::puts(file.path.c_str());
        } else if (request.mode == protocol::GrepMode::count) {
            std::printf("%s:%llu\n", file.path.c_str(),
                        static_cast<unsigned long long>(file.count));
        }
    }
    std::fprintf(stderr,
                 "files=%llu matches=%llu searched=%llu ignored=%llu binary=%llu large=%llu "
                 "unreadable=%llu complete=%d truncated_by=%s\n",
                 static_cast<unsigned long long>(reply.total_files),
                 static_cast<unsigned long long>(reply.total_matches),
                 static_cast<unsigned long long>(reply.searched_files),
                 static_cast<unsigned long long>(reply.ignored_files),
                 static_cast<unsigned long long>(reply.binary_files),
                 static_cast<unsigned long long>(reply.large_files),
                 static_cast<unsigned long long>(reply.unreadable), reply.complete ? 1 : 0,
                 reply.truncated_by.c_str());
}

void run(const std::string& operation, char** arguments, const Fields& fields)
{
    const protocol::GuestConfig config;
    guest::SessionState session("/tmp");
    guest::CallContext context{.config = config, .session = session};
    if (operation == "grep") {
        const protocol::GrepRequest request = grep_request(arguments[2], arguments[3], fields);
        print(guest::grep_files(request, context), request);
        return;
    }
    protocol::GlobRequest request;
    request.path = arguments[2];
    request.pattern = arguments[3];
    request.limit = fields.number("limit");
    request.respect_ignore = fields.flag("respect_ignore");
    request.time_limit = fields.number("time_limit");
    const protocol::GlobReply reply = guest::glob_files(request, context);
    for (const auto& path : reply.paths) {
        std::puts(path.c_str());
    }
    std::fprintf(stderr, "total=%llu unreadable=%llu complete=%d truncated_by=%s\n",
                 static_cast<unsigned long long>(reply.total),
                 static_cast<unsigned long long>(reply.unreadable), reply.complete ? 1 : 0,
                 reply.truncated_by.c_str());
}

} // namespace

int main(int count, char** arguments)
{
    if (count < 4) {
        std::fputs("usage: search-tool glob|grep PATH PATTERN [field=value ...]\n", stderr);
        return 1;
    }
    try {
        run(arguments[1], arguments, Fields(count, arguments));
    } catch (const Error& error) {
        std::fprintf(stderr, "%s: %s (%s)\n", std::string(to_string(error.code())).c_str(),
                     error.what(), error.hint().c_str());
        return 2;
    }
    return 0;
}

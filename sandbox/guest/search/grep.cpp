#include "sandbox/base/error.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/guest/search/file_renderer.hpp"
#include "sandbox/guest/search/grep_search.hpp"
#include "sandbox/guest/search/newline_patterns.hpp"
#include "sandbox/guest/search/search_root.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace berth::guest {

using namespace search; // NOLINT(google-build-using-namespace): this file is its front

namespace {

constexpr std::uint64_t unlimited = ~std::uint64_t{0};
constexpr std::uint32_t max_context = 1000;

/// What of all units, in order, is listed.
struct Window {
    std::uint64_t offset;
    std::uint64_t limit;

    explicit Window(const protocol::GrepRequest& request)
        : offset(request.offset), limit(request.limit == 0 ? unlimited : request.limit)
    {
    }

    [[nodiscard]] std::uint64_t end() const noexcept
    {
        return limit > unlimited - offset ? unlimited : offset + limit;
    }
};

void check(const protocol::GrepRequest& request)
{
    if (std::max(request.before, request.after) > max_context) {
        throw Error(ErrorCode::invalid_argument,
                    "more than " + std::to_string(max_context) + " lines of context",
                    "read the file instead");
    }
}

/// The include globs, with "~/" written out as in a path.
std::vector<std::string> include_of(const protocol::GrepRequest& request,
                                    const CallContext& context)
{
    std::vector<std::string> globs = request.include;
    for (std::string& glob : globs) {
        const std::size_t at = glob.starts_with('!') ? 1 : 0;
        if (std::string_view(glob).substr(at).starts_with("~/")) {
            glob.replace(at, 1, absolute_path("~", context));
        }
    }
    return globs;
}

void run_search(const protocol::GrepRequest& request, const Selection& selection,
                const SearchRoot& root, unsigned threads, SearchLimits& limits, GrepSearch& search,
                WalkTotals& walked)
{
    if (!root.is_directory) {
        search.search(0, root.fd.get(), root.path);
        return;
    }
    UniqueFd directory(::fcntl(root.fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!directory) {
        throw errno_error(errno, "search " + root.path);
    }
    const WalkOptions options{
        .use_ignore_files = !request.no_ignore, .symlinks = false, .threads = threads};
    walk(std::move(directory), root.path, selection, options, limits, search, walked);
}

void list_files(const Window& window, GrepSearch& search, TextBudget& budget, bool counts,
                protocol::GrepReply& reply)
{
    std::uint64_t index = 0;
    for (const auto& [path, file] : search.found().files()) {
        const std::uint64_t unit = index++;
        if (unit < window.offset) {
            continue;
        }
        if (unit >= window.end() || !budget.take(path.size() + 1, reply.files.empty())) {
            return;
        }
        reply.files.push_back({.path = path, .count = counts ? file.count : 0, .lines = {}});
    }
}

void list_newest(const Window& window, NewestFiles& newest, TextBudget& budget,
                 protocol::GrepReply& reply)
{
    std::uint64_t unit = 0;
    for (std::string& path : newest.take()) {
        if (unit++ < window.offset) {
            continue;
        }
        if (!budget.take(path.size() + 1, reply.files.empty())) {
            return;
        }
        reply.files.push_back({.path = std::move(path), .count = 0, .lines = {}});
    }
}

UniqueFd open_found(const SearchRoot& root, const std::string& path)
{
    if (!root.is_directory) {
        UniqueFd fd(::fcntl(root.fd.get(), F_DUPFD_CLOEXEC, 0));
        if (fd && ::lseek(fd.get(), 0, SEEK_SET) != 0) {
            fd.reset();
        }
        return fd;
    }
    const std::size_t base = root.path == "/" ? 1 : root.path.size() + 1;
    return reopen_below(root.fd.get(), std::string_view(path).substr(base), O_RDONLY);
}

void list_lines(const protocol::GrepRequest& request, const Window& window, const SearchRoot& root,
                const Matcher& matcher, GrepSearch& search, BlockReader& reader, TextBudget& budget,
                protocol::GrepReply& reply)
{
    const RenderOptions options{.before = request.before,
                                .after = request.after,
                                .only_matching = request.only_matching,
                                .line_limit = request.line_limit};
    std::uint64_t seen = 0;
    for (const auto& [path, file] : search.found().files()) {
        const std::uint64_t first = seen;
        seen += file.units;
        if (seen <= window.offset) {
            continue;
        }
        if (first >= window.end() || !budget.take(path.size() + 1, reply.files.empty())) {
            return;
        }
        const UniqueFd fd = open_found(root, path);
        protocol::GrepFile out{.path = path, .count = file.count, .lines = {}};
        const std::uint64_t skip = window.offset > first ? window.offset - first : 0;
        if (fd) {
            FileRenderer renderer(matcher, options, budget, reply.files.empty(), out);
            (void)renderer.render(reader, fd.get(), skip,
                                  std::min(window.end() - first, file.units) - skip);
        }
        // Gone or changed since it was counted: nothing of it is listed.
        if (!out.lines.empty()) {
            reply.files.push_back(std::move(out));
        }
    }
}

void fill_totals(const protocol::GrepRequest& request, const GrepSearch& search,
                 const WalkTotals& walked, protocol::GrepReply& reply)
{
    const GrepSearch::Totals& totals = search.totals();
    reply.total_files = totals.matched;
    // Files are read to their first match only, in this mode.
    reply.total_matches = request.mode == protocol::GrepMode::files ? 0 : totals.units.load();
    reply.searched_files = totals.searched;
    reply.ignored_files = walked.ignored;
    reply.binary_files = totals.binary;
    reply.large_files = totals.large;
    reply.slow_files = totals.slow;
    reply.unreadable = walked.unreadable.count() + totals.unreadable.count();
    walked.unreadable.name_in(reply.unreadable_paths);
    totals.unreadable.name_in(reply.unreadable_paths);
    reply.capped_ignore_files = walked.capped_ignore_files;
}

} // namespace

protocol::GrepReply grep_files(const protocol::GrepRequest& request, const CallContext& context)
{
    check(request);
    const Matcher matcher(request.pattern, {.fixed = request.fixed,
                                            .ignore_case = request.ignore_case,
                                            .multiline = request.multiline});
    const SearchRoot root = open_search_root(request.path, context);
    const Window window(request);
    const bool by_file = request.mode != protocol::GrepMode::content;
    // As in ripgrep, lines are no unit of a count when a match may have several.
    const bool counts_matches = request.multiline && request.mode == protocol::GrepMode::count &&
                                (request.fixed ? request.pattern.find('\n') != std::string::npos
                                               : can_match_newline(request.pattern));
    const CountOptions options{.occurrences = request.only_matching || counts_matches,
                               .first_only = request.mode == protocol::GrepMode::files};
    const unsigned threads = root.is_directory ? search_threads() : 1;
    SearchLimits limits(context.stop, request.time_limit);
    GrepSearch search(matcher, options, by_file, window.end(), threads, limits,
                      request.newest_first && request.mode == protocol::GrepMode::files);
    WalkTotals walked;
    const Selection selection(root.path, include_of(request, context), request.type,
                              request.hidden);
    run_search(request, selection, root, threads, limits, search, walked);

    protocol::GrepReply reply;
    reply.root = root.path;
    fill_totals(request, search, walked, reply);
    reply.counts_lines = !options.occurrences && !options.first_only;
    TextBudget budget(request.budget);
    // What was found in time is shown, even if the time went on finding it.
    SearchLimits listing_limits(context.stop, request.time_limit);
    if (search.newest() != nullptr) {
        list_newest(window, *search.newest(), budget, reply);
    } else if (by_file) {
        list_files(window, search, budget, !options.first_only, reply);
    } else {
        BlockReader reader(listing_limits);
        list_lines(request, window, root, matcher, search, reader, budget, reply);
    }
    if (limits.cancelled()) {
        throw Error(ErrorCode::cancelled, "the search was cancelled",
                    "search again if it is still wanted");
    }
    const std::uint64_t units = by_file ? search.totals().matched : search.totals().units;
    reply.complete = !limits.timed_out() && reply.slow_files == 0;
    reply.truncated_by = !reply.complete || listing_limits.timed_out() ? "time"
                         : budget.exceeded()                           ? "budget"
                         : units > window.end()                        ? "limit"
                                                                       : "";
    return reply;
}

} // namespace berth::guest

#include "sandbox/base/error.hpp"
#include "sandbox/base/glob_pattern.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/search/glob_start.hpp"
#include "sandbox/guest/search/newest_files.hpp"
#include "sandbox/guest/search/search_root.hpp"
#include "sandbox/guest/search/walker.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::guest {

using namespace search; // NOLINT(google-build-using-namespace): this file is its front

namespace {

class GlobSearch final : public WalkVisitor {
  public:
    GlobSearch(const GlobPattern& pattern, const std::string& root, std::uint64_t limit)
        : pattern_(pattern), base_(root == "/" ? 1 : root.size() + 1), found_(limit)
    {
    }

    void visit(unsigned /*thread*/, const WalkedFile& file) override
    {
        if (!pattern_.matches(file.path.substr(base_))) {
            return;
        }
        struct stat status{};
        const int flags = file.is_symlink ? 0 : AT_SYMLINK_NOFOLLOW;
        // A symlink counts as what it leads to; one that leads nowhere is no file.
        if (::fstatat(file.dirfd, file.name, &status, flags) != 0 || !S_ISREG(status.st_mode)) {
            return;
        }
        constexpr std::int64_t second = 1'000'000'000;
        found_.add(file.path, status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec);
    }

    [[nodiscard]] bool enters(std::string_view path) const noexcept override
    {
        return pattern_.may_match_below(path.substr(base_));
    }

    [[nodiscard]] bool wants(std::string_view path) const noexcept override
    {
        return pattern_.matches(path.substr(base_));
    }

    [[nodiscard]] NewestFiles& found() noexcept { return found_; }

  private:
    const GlobPattern& pattern_;
    std::size_t base_;
    NewestFiles found_;
};

/// A pattern that says itself where it begins: "/a/b/*.c", "~/x/*", "../b/*".
struct PatternParts {
    std::string directory;
    std::string pattern;
};

/// The leading components without anything special, and the rest.
PatternParts split_literal_prefix(std::string_view pattern)
{
    std::size_t begin = pattern.starts_with('/') ? 1 : 0;
    for (;;) {
        const std::size_t slash = pattern.find('/', begin);
        if (slash == std::string_view::npos ||
            pattern.substr(begin, slash - begin).find_first_of("*?[{}\\") !=
                std::string_view::npos) {
            break;
        }
        begin = slash + 1;
    }
    return {.directory = std::string(pattern.substr(0, begin)),
            .pattern = std::string(pattern.substr(begin))};
}

bool names_parent(const std::string& pattern)
{
    return ("/" + pattern + "/").find("/../") != std::string::npos;
}

/// Where the search begins and what for. A pattern's own prefix counts only where it must: below
/// `path` it stays a pattern, so that ignore rules are asked about its directories.
PatternParts plan(const protocol::GlobRequest& request)
{
    const std::string whole = with_common_start(request.pattern);
    std::string_view pattern = whole;
    if (pattern.ends_with('/')) {
        throw Error(ErrorCode::invalid_argument,
                    "bad glob pattern: it ends with a slash, and only files are listed",
                    "end it with /** for all files below");
    }
    const bool here = pattern.starts_with("./");
    while (pattern.starts_with("./")) {
        pattern.remove_prefix(std::min(pattern.find_first_not_of('/', 1), pattern.size()));
    }
    PatternParts split{.directory = request.path, .pattern = std::string(pattern)};
    if (here && !pattern.starts_with("../")) {
        // "./*.h" has no other slash left, but does not mean files at any depth.
        split.pattern.insert(0, "/");
    } else if (pattern.starts_with('/') || pattern.starts_with("~/") ||
               pattern.starts_with("../")) {
        const PatternParts own = split_literal_prefix(pattern);
        const bool relative = pattern.starts_with("../") && !request.path.empty();
        split.directory = relative ? request.path + "/" + own.directory : own.directory;
        // "/a/b.c" has no other slash left, nor has the first of "/a/{b.c,d/e.c}", but they mean
        // this one place.
        split.pattern = "/" + own.pattern;
    }
    if (std::ranges::any_of(expand_braces(split.pattern), names_parent)) {
        throw Error(ErrorCode::invalid_argument, "bad glob pattern: '..' can only come first",
                    "name the directory in `path`");
    }
    return split;
}

/// Then it is looked into, which else would fill a result with what nobody asked for.
bool names_git(const std::string& pattern)
{
    for (const std::string& one : expand_braces(pattern)) {
        if (("/" + one + "/").find("/.git/") != std::string::npos) {
            return true;
        }
    }
    return false;
}

/// A pattern's leading names are followed as a path's are, as a shell does: where one of them is a
/// symlink, which a walk does not go through, the search begins behind it instead. Returns where
/// the search begins; `pattern` becomes what is left.
SearchRoot follow_prefix(SearchRoot root, std::string& pattern, const CallContext& context)
{
    PatternParts own = split_literal_prefix(pattern);
    if (own.directory.starts_with('/')) {
        own.directory.erase(0, 1); // of "./d/*.c": it is below the root all the same
    }
    if (own.directory.empty() ||
        reopen_below(root.fd.get(), own.directory, O_RDONLY | O_DIRECTORY).valid() ||
        errno != ELOOP) {
        return root;
    }
    try {
        SearchRoot behind = open_search_root(root.path + "/" + own.directory, context);
        if (behind.is_directory) {
            // It keeps a slash: what is left stands for files right here, not at any depth.
            pattern = "/" + own.pattern;
            return behind;
        }
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_found) {
            throw;
        }
    }
    return root; // leads nowhere, so nothing will match
}

} // namespace

protocol::GlobReply glob_files(const protocol::GlobRequest& request, const CallContext& context)
{
    PatternParts split = plan(request);
    SearchRoot root = open_search_root(split.directory, context);
    if (!root.is_directory) {
        throw Error(ErrorCode::invalid_argument, visible(root.path) + " is a file, not a directory",
                    "give its directory as `path` and its name as the pattern");
    }
    protocol::GlobReply reply;
    reply.root = root.path;
    (void)GlobPattern::compile(split.pattern); // errors are about the pattern as it was given
    root = follow_prefix(std::move(root), split.pattern, context);
    const GlobPattern pattern = GlobPattern::compile(split.pattern);
    GlobSearch search(pattern, root.path, request.limit);
    SearchLimits limits(context.stop, request.time_limit);
    WalkTotals walked;
    const WalkOptions options{.use_ignore_files = request.respect_ignore,
                              .git = names_git(split.pattern),
                              .symlinks = true,
                              .threads = search_threads()};
    const Selection everything(root.path, {}, {}, true);
    walk(std::move(root.fd), root.path, everything, options, limits, search, walked);
    if (limits.cancelled()) {
        throw Error(ErrorCode::cancelled, "the search was cancelled",
                    "search again if it is still wanted");
    }
    reply.total = search.found().total();
    reply.paths = search.found().take();
    reply.complete = !limits.timed_out();
    reply.unreadable = walked.unreadable.count();
    walked.unreadable.name_in(reply.unreadable_paths);
    reply.capped_ignore_files = walked.capped_ignore_files;
    reply.ignored = walked.ignored;
    reply.git_left_out = walked.git_left_out;
    reply.truncated_by = limits.timed_out()                 ? "time"
                         : reply.paths.size() < reply.total ? "limit"
                                                            : "";
    return reply;
}

} // namespace berth::guest

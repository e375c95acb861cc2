#include "sandbox/guest/search/selection.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/search/file_types.hpp"

#include <algorithm>
#include <optional>

namespace berth::guest::search {

namespace {

/// What is left of an absolute glob for paths relative to `root`; nothing when it leads elsewhere.
std::optional<std::string_view> below_root(std::string_view glob, std::string_view root)
{
    for (;;) {
        // Both are at a slash, or `root` at its end.
        if (root.empty()) {
            glob.remove_prefix(std::min<std::size_t>(1, glob.size()));
            return glob.empty() ? std::nullopt : std::optional(glob);
        }
        if (glob.empty()) {
            return std::nullopt;
        }
        const std::string_view pattern =
            glob.substr(1, std::min(glob.find('/', 1), glob.size()) - 1);
        const std::string_view name = root.substr(1, std::min(root.find('/', 1), root.size()) - 1);
        if (pattern == "**") {
            return glob.substr(1);
        }
        if (!GlobSegment::compile(pattern, 0).matches(name)) {
            return std::nullopt;
        }
        glob.remove_prefix(pattern.size() + 1);
        root.remove_prefix(name.size() + 1);
    }
}

} // namespace

Selection::Selection(std::string_view root, const std::vector<std::string>& include,
                     std::string_view type, bool hidden)
    : base_(root == "/" ? 1 : root.size() + 1), hidden_(hidden)
{
    for (const std::string& glob : include) {
        add_include(root, glob);
    }
    if (!type.empty()) {
        for (const std::string& glob : file_type_globs(type)) {
            type_.push_back(GlobPattern::compile(glob));
        }
    }
}

void Selection::add_include(std::string_view root, std::string_view glob)
{
    const std::string sign(glob.starts_with('!') ? "!" : "");
    glob.remove_prefix(sign.size());
    if (glob.find_first_not_of('/') == glob.npos) { // no rule at all: it would take everything
        throw Error(ErrorCode::invalid_argument,
                    "include: \"" + sign + std::string(glob) + "\" names no files",
                    "Give a glob of names or paths, such as *.c or src/**; without include all "
                    "files are searched.");
    }
    if (glob.starts_with("./")) {
        include_.add(sign + std::string(glob.substr(1)), true);
        return;
    }
    include_.add(sign + std::string(glob), true);
    if (root == "/") {
        return;
    }
    for (const std::string& one : expand_braces(glob)) {
        const auto rest = one.starts_with('/') ? below_root(one, root) : std::nullopt;
        if (rest) {
            include_.add(sign + "/" + std::string(*rest), false);
        }
    }
}

Selection::Choice Selection::choose(const IgnoreLevel* level, std::string_view path,
                                    bool is_directory, SearchLimits* limits) const noexcept
{
    if (!include_.empty()) {
        switch (include_.match(path.substr(base_), is_directory, limits)) {
        case Verdict::ignored: // a glob without '!'
            return Choice::take;
        case Verdict::kept:
            return Choice::leave;
        case Verdict::none:
            if (include_.has_positive() && !is_directory) {
                return Choice::leave;
            }
        }
    }
    const Verdict verdict = IgnoreLevel::judge(level, path, is_directory, limits);
    if (verdict == Verdict::ignored) {
        return Choice::leave_ignored;
    }
    const std::string_view name = path.substr(path.rfind('/') + 1);
    bool wanted = verdict == Verdict::kept;
    if (!type_.empty() && !is_directory) {
        wanted =
            std::ranges::any_of(type_, [&](const GlobPattern& glob) { return glob.matches(name); });
        if (!wanted) {
            return Choice::leave;
        }
    }
    return wanted || hidden_ || !name.starts_with('.') ? Choice::take : Choice::leave;
}

} // namespace berth::guest::search

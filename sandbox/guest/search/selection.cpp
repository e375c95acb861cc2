#include "sandbox/guest/search/selection.hpp"

#include "sandbox/guest/search/file_types.hpp"

#include <algorithm>

namespace berth::guest::search {

Selection::Selection(std::string_view root, const std::vector<std::string>& include,
                     std::string_view type, bool hidden)
    : base_(root == "/" ? 1 : root.size() + 1), hidden_(hidden)
{
    for (const std::string& glob : include) {
        include_.add(glob, true);
    }
    if (!type.empty()) {
        for (const std::string& glob : file_type_globs(type)) {
            type_.push_back(GlobPattern::compile(glob));
        }
    }
}

Selection::Choice Selection::choose(const IgnoreLevel* level, std::string_view path,
                                    bool is_directory) const noexcept
{
    if (!include_.empty()) {
        switch (include_.match(path.substr(base_), is_directory)) {
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
    const Verdict verdict = IgnoreLevel::judge(level, path, is_directory);
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

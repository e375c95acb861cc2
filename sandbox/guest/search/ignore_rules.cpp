#include "sandbox/guest/search/ignore_rules.hpp"

#include "sandbox/base/error.hpp"

#include <utility>

namespace berth::guest::search {

namespace {

/// Trailing spaces do not count unless the last of them is escaped.
std::string_view trim(std::string_view line)
{
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    while (line.ends_with(' ') && !line.ends_with("\\ ")) {
        line.remove_suffix(1);
    }
    return line;
}

} // namespace

void IgnoreRules::add_file(std::string_view content)
{
    if (content.starts_with("\xEF\xBB\xBF")) {
        content.remove_prefix(3);
    }
    while (!content.empty()) {
        const std::size_t end = std::min(content.find('\n'), content.size());
        try {
            add(content.substr(0, end), false);
        } catch (const Error&) {
            // git: a pattern that cannot be parsed matches nothing.
        }
        content.remove_prefix(std::min(end + 1, content.size()));
    }
}

void IgnoreRules::add(std::string_view line, bool braces)
{
    line = trim(line);
    if (line.empty() || line.starts_with('#')) {
        return;
    }
    const bool negated = line.starts_with('!');
    line.remove_prefix(negated ? 1 : 0);
    const bool anchored = line.starts_with('/');
    line.remove_prefix(anchored ? 1 : 0);
    const bool directories_only = line.ends_with('/');
    line.remove_suffix(directories_only ? 1 : 0);
    if (line.empty()) {
        return;
    }
    GlobPattern pattern = GlobPattern::compile(line, {.braces = braces, .anchored = anchored});
    const int last_byte = pattern.last_byte();
    rules_.push_back({std::move(pattern), last_byte, negated, directories_only});
    has_positive_ = has_positive_ || !negated;
}

Verdict IgnoreRules::match(std::string_view path, bool is_directory) const noexcept
{
    if (path.empty()) {
        return Verdict::none;
    }
    const int last = static_cast<unsigned char>(path.back());
    for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
        if ((rule->last_byte >= 0 && rule->last_byte != last) ||
            (rule->directories_only && !is_directory) || !rule->pattern.matches(path)) {
            continue;
        }
        return rule->negated ? Verdict::kept : Verdict::ignored;
    }
    return Verdict::none;
}

} // namespace berth::guest::search

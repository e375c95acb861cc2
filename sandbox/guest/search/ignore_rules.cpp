#include "sandbox/guest/search/ignore_rules.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
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

constexpr std::string_view special = "*?[]{}\\/";
constexpr std::size_t longest_name = 255;

/// Of memory, in units of about 250 bytes: a compiled pattern has a part for each of these.
std::size_t weight_of(std::string_view line)
{
    return 1 + static_cast<std::size_t>(std::ranges::count_if(
                   line, [](char c) { return special.find(c) != std::string_view::npos; }));
}

} // namespace

bool IgnoreRules::add_file(std::string_view content, RuleLease* lease)
{
    if (content.starts_with("\xEF\xBB\xBF")) {
        content.remove_prefix(3);
    }
    while (!content.empty()) {
        const std::size_t end = std::min(content.find('\n'), content.size());
        const std::string_view line = trim(content.substr(0, end));
        content.remove_prefix(std::min(end + 1, content.size()));
        try {
            if (!line.empty() && !line.starts_with('#')) {
                if (rules_.size() >= max_file_rules ||
                    (lease != nullptr && !lease->take(weight_of(line)))) {
                    return false;
                }
                add(line, false, GlobUnit::byte);
            }
        } catch (const Error&) {
            continue; // git: a pattern that cannot be parsed matches nothing
        }
    }
    return true;
}

void IgnoreRules::add(std::string_view line, bool braces, GlobUnit unit)
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
    // To git "//" is a folder without a name, and nothing lies in one.
    const bool matches_nothing = !braces && (line.starts_with('/') || line.ends_with('/') ||
                                             line.find("//") != std::string_view::npos);
    if (line.empty() || matches_nothing) {
        return;
    }
    Rule rule;
    rule.negated = negated;
    rule.directories_only = directories_only;
    if (!anchored && line.size() <= longest_name &&
        line.find_first_of(special) == std::string_view::npos &&
        line.find('\0') == std::string_view::npos) {
        rule.name = static_cast<std::uint32_t>(names_.size());
        rule.name_size = static_cast<std::uint16_t>(line.size());
        rule.last_byte = static_cast<unsigned char>(line.back());
        names_ += line;
    } else {
        rule.pattern = std::make_unique<const GlobPattern>(
            GlobPattern::compile(line, {.braces = braces, .anchored = anchored, .unit = unit}));
        rule.last_byte = static_cast<std::int16_t>(rule.pattern->last_byte());
    }
    rules_.push_back(std::move(rule));
    has_positive_ = has_positive_ || !negated;
}

bool IgnoreRules::matches(const Rule& rule, std::string_view path) const noexcept
{
    if (rule.pattern) {
        return rule.pattern->matches(path);
    }
    const std::string_view name(names_.data() + rule.name, rule.name_size);
    return path.ends_with(name) &&
           (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

Verdict IgnoreRules::match(std::string_view path, bool is_directory,
                           SearchLimits* limits) const noexcept
{
    constexpr unsigned patterns_between_checks = 32;
    if (path.empty()) {
        return Verdict::none;
    }
    const int last = static_cast<unsigned char>(path.back());
    unsigned patterns = 0;
    for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
        if ((rule->last_byte >= 0 && rule->last_byte != last) ||
            (rule->directories_only && !is_directory)) {
            continue;
        }
        if (limits != nullptr && ++patterns % patterns_between_checks == 0 && limits->must_stop()) {
            return Verdict::ignored;
        }
        if (!matches(*rule, path)) {
            continue;
        }
        return rule->negated ? Verdict::kept : Verdict::ignored;
    }
    return Verdict::none;
}

} // namespace berth::guest::search

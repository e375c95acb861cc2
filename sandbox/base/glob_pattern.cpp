#include "sandbox/base/glob_pattern.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/npos.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace berth {

namespace {

constexpr std::size_t max_pattern = 4096;
constexpr std::size_t max_alternatives = 256;
/// Of all alternatives: each byte may become a component of about a hundred bytes.
constexpr std::size_t max_expanded = 64U << 10;
/// On the way there, in bytes that are looked at: groups of one alternative add to them, though not
/// to the result, and each '[' that is never closed is looked for up to the end.
constexpr std::size_t max_expansion = 4UL << 20;

Error bad_braces(const std::string& what, std::size_t offset)
{
    return Error(ErrorCode::invalid_argument,
                 "bad glob pattern: " + what + " at character " + std::to_string(offset + 1),
                 "write \\{ or \\} for a brace that is meant literally");
}

/// The position after one character of a pattern: an escape, a `[...]` or a single byte.
std::size_t step(std::string_view text, std::size_t at)
{
    if (text[at] == '\\') {
        return std::min(at + 2, text.size());
    }
    if (text[at] == '[') {
        const std::size_t end = set_end(text, at);
        return end == npos ? at + 1 : end;
    }
    return at + 1;
}

struct Group {
    std::size_t begin = npos;            ///< of '{'
    std::size_t end = npos;              ///< after '}'
    std::vector<std::size_t> separators; ///< '{', the commas, '}'
};

/// The first group of the outermost level.
Group find_group(std::string_view text)
{
    Group group;
    std::size_t depth = 0;
    for (std::size_t at = 0; at < text.size(); at = step(text, at)) {
        if (text[at] == '{') {
            if (depth++ == 0) {
                group.begin = at;
                group.separators = {at};
            }
        } else if (text[at] == ',' && depth == 1) {
            group.separators.push_back(at);
        } else if (text[at] == '}') {
            if (depth == 0) {
                throw bad_braces("'}' without '{'", at);
            }
            if (--depth == 0) {
                group.separators.push_back(at);
                group.end = at + 1;
                return group;
            }
        }
    }
    if (depth != 0) {
        throw bad_braces("'{' is never closed", group.begin);
    }
    return group;
}

[[noreturn]] void refuse_expansion(const std::string& what)
{
    throw Error(ErrorCode::invalid_argument, "bad glob pattern: " + what,
                "give fewer alternatives in one call, or use * for a part that varies");
}

/// `work`: see max_expansion.
void expand_into(const std::string& text, std::vector<std::string>& out, std::size_t& work)
{
    const Group group = find_group(text);
    if (group.begin == npos) {
        // An attacker's {a,b}{a,b}{a,b}... would otherwise double with every group.
        if (out.size() == max_alternatives || out.size() * text.size() > max_expanded) {
            refuse_expansion("its braces stand for more than " + std::to_string(max_alternatives) +
                             " patterns, or 64 KiB of them");
        }
        out.push_back(text);
        return;
    }
    work += text.size() * (1 + static_cast<std::size_t>(std::ranges::count(text, '[')));
    if (work > max_expansion) {
        refuse_expansion("it has too many braces, or too many '[' beside them");
    }
    for (std::size_t i = 0; i + 1 < group.separators.size(); ++i) {
        const std::size_t begin = group.separators[i] + 1;
        expand_into(text.substr(0, group.begin) +
                        text.substr(begin, group.separators[i + 1] - begin) +
                        text.substr(group.end),
                    out, work);
    }
}

std::size_t component_end(std::string_view path, std::size_t at) noexcept
{
    return std::min(path.find('/', at), path.size());
}

/// The begin of the component after the one at `at`, npos at the end.
std::size_t next_component(std::string_view path, std::size_t at) noexcept
{
    const std::size_t slash = path.find('/', at);
    return slash == npos ? npos : slash + 1;
}

template <class Components>
bool match_components(const Components& components, std::string_view path) noexcept
{
    std::size_t index = 0;
    std::size_t at = 0;
    std::size_t retry_index = npos;
    std::size_t retry_at = 0;
    for (;;) {
        if (index == components.size()) {
            if (at == npos) {
                return true;
            }
        } else if (!components[index]) {
            if (index + 1 == components.size()) {
                return at != npos;
            }
            retry_index = ++index;
            retry_at = at;
            continue;
        } else if (at != npos &&
                   components[index]->matches(path.substr(at, component_end(path, at) - at))) {
            at = next_component(path, at);
            ++index;
            continue;
        }
        if (retry_index == npos || retry_at == npos) {
            return false;
        }
        retry_at = next_component(path, retry_at);
        index = retry_index;
        at = retry_at;
    }
}

template <class Components>
bool may_lead_to(const Components& components, std::string_view directory) noexcept
{
    std::size_t at = 0;
    for (const auto& component : components) {
        if (!component || at == npos) {
            return true;
        }
        if (!component->matches(directory.substr(at, component_end(directory, at) - at))) {
            return false;
        }
        at = next_component(directory, at);
    }
    return false;
}

} // namespace

std::vector<std::string> expand_braces(std::string_view pattern)
{
    std::vector<std::string> out;
    std::size_t work = 0;
    expand_into(std::string(pattern), out, work);
    return out;
}

void GlobPattern::add_alternative(std::string_view text, Options options)
{
    Alternative alternative;
    alternative.base_name = !options.anchored && text.find('/') == npos;
    for (std::size_t at = 0; at != npos;) {
        const std::size_t end = component_end(text, at);
        const std::string_view component = text.substr(at, end - at);
        if (component == "**") {
            const bool repeated = !alternative.components.empty() && !alternative.components.back();
            if (!repeated) {
                alternative.components.emplace_back();
            }
        } else if (!component.empty() &&
                   !(options.braces && component == "." && end != text.size())) {
            alternative.components.emplace_back(GlobSegment::compile(component, at, options.unit));
        }
        at = next_component(text, at);
    }
    alternatives_.push_back(std::move(alternative));
}

GlobPattern GlobPattern::compile(std::string_view pattern, Options options)
{
    if (pattern.empty() || pattern.size() > max_pattern || pattern.find('\0') != npos) {
        throw Error(ErrorCode::invalid_argument,
                    "bad glob pattern: it is empty, longer than " + std::to_string(max_pattern) +
                        " bytes, or has a NUL byte in it",
                    "give a name or a path with wildcards, e.g. *.cpp or src/**/*.h");
    }
    GlobPattern glob;
    const std::vector<std::string> texts =
        options.braces ? expand_braces(pattern) : std::vector<std::string>{std::string(pattern)};
    for (const std::string& text : texts) {
        glob.add_alternative(text, options);
    }
    bool first = true;
    for (const Alternative& alternative : glob.alternatives_) {
        const bool known = !alternative.components.empty() && alternative.components.back();
        const int last = known ? alternative.components.back()->last_byte() : -1;
        glob.last_byte_ = first || glob.last_byte_ == last ? last : -1;
        first = false;
    }
    return glob;
}

bool GlobPattern::matches(std::string_view path) const noexcept
{
    for (const Alternative& alternative : alternatives_) {
        const std::string_view subject =
            alternative.base_name ? path.substr(path.rfind('/') + 1) : path;
        if (match_components(alternative.components, subject)) {
            return true;
        }
    }
    return false;
}

bool GlobPattern::may_match_below(std::string_view directory) const noexcept
{
    for (const Alternative& alternative : alternatives_) {
        if (alternative.base_name || may_lead_to(alternative.components, directory)) {
            return true;
        }
    }
    return false;
}

} // namespace berth

#include "sandbox/guest/search/newline_patterns.hpp"

#include "sandbox/base/npos.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <string>

namespace berth::guest::search {

namespace {

/// The size of the `[...]` that `text` begins with.
std::size_t class_size(std::string_view text)
{
    std::size_t at = text.starts_with("[^") ? 2 : 1;
    for (bool first = true; at < text.size() && (first || text[at] != ']'); first = false) {
        const std::size_t named = text.substr(at).starts_with("[:") ? text.find(":]", at) : npos;
        at = named != npos ? named + 2 : at + (text[at] == '\\' ? 2U : 1U);
    }
    return std::min(at + 1, text.size());
}

/// The size of the escape that `text` begins with: \n, \x0a, \x{a}, \012, \pN, \p{Greek}, \Q[.\E.
std::size_t escape_size(std::string_view text)
{
    if (text.size() < 3) {
        return text.size();
    }
    const char kind = text[1];
    if (kind == 'Q') {
        const std::size_t end = text.find("\\E");
        return end == npos ? text.size() : end + 2;
    }
    if ((kind == 'x' || kind == 'p' || kind == 'P') && text[2] == '{') {
        return std::min(text.find('}'), text.size() - 1) + 1;
    }
    if (kind == 'x') {
        return std::min<std::size_t>(text.size(), 4);
    }
    if (kind == 'p' || kind == 'P') {
        return 3;
    }
    std::size_t at = 2;
    while (kind == '0' && at < 4 && at < text.size() && text[at] >= '0' && text[at] <= '7') {
        ++at;
    }
    return at;
}

bool matches_newline(std::string_view part)
{
    if (part.starts_with("\\Q")) {
        return part.find('\n') != npos;
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    const re2::RE2 regex(re2::StringPiece(part.data(), part.size()), options);
    return regex.ok() && re2::RE2::FullMatch("\n", regex);
}

/// \n and its other spellings, but not \s, \W, \pZ and other classes.
bool is_newline(std::string_view part)
{
    const bool is_class = part.size() > 1 && part.front() == '\\' &&
                          std::string_view("sSdDwWpPC").find(part[1]) != npos;
    return part == "\n" || (part.front() == '\\' && !is_class && matches_newline(part));
}

/// Whether the `[...]` stands for newlines and nothing else.
bool is_newlines_only(std::string_view set)
{
    set = set.substr(1, set.size() - std::min<std::size_t>(set.size(), 2));
    bool found = false;
    while (!set.empty()) {
        const std::size_t size = set.front() == '\\' ? escape_size(set) : 1;
        if (!is_newline(set.substr(0, size))) {
            return false;
        }
        found = true;
        set.remove_prefix(size);
    }
    return found;
}

/// Whether the group that `text` begins with sets the flag s: "(?s)", "(?is:".
bool sets_dot_all(std::string_view text)
{
    if (!text.starts_with("(?")) {
        return false;
    }
    const std::string_view flags = text.substr(2);
    return flags.substr(0, flags.find_first_not_of("imsU")).find('s') != npos;
}

} // namespace

bool can_match_newline(std::string_view pattern)
{
    bool dot_all = false;
    for (std::size_t at = 0; at < pattern.size();) {
        const std::string_view rest = pattern.substr(at);
        std::size_t size = 1;
        switch (rest.front()) {
        case '\n':
            return true;
        case '.':
            if (dot_all) {
                return true;
            }
            break;
        case '(':
            dot_all = dot_all || sets_dot_all(rest);
            break;
        case '[':
        case '\\':
            size = rest.front() == '[' ? class_size(rest) : escape_size(rest);
            if (matches_newline(rest.substr(0, size))) {
                return true;
            }
            break;
        default:
            break;
        }
        at += size;
    }
    return false;
}

bool asks_for_newline(std::string_view pattern)
{
    for (std::size_t at = 0; at < pattern.size();) {
        const std::string_view rest = pattern.substr(at);
        const bool is_set = rest.front() == '[';
        const std::size_t size = is_set                 ? class_size(rest)
                                 : rest.front() == '\\' ? escape_size(rest)
                                                        : 1;
        const std::string_view part = rest.substr(0, size);
        if (is_set ? is_newlines_only(part) : is_newline(part)) {
            return true;
        }
        at += size;
    }
    return false;
}

bool tells_text_from_lines(std::string_view pattern)
{
    // RE2's \C takes newlines also where none may be matched.
    for (const std::string_view escape : {"\\A", "\\z", "\\C"}) {
        if (pattern.find(escape) != npos) {
            return true;
        }
    }
    for (std::size_t at = pattern.find("(?"); at != npos; at = pattern.find("(?", at + 2)) {
        std::string_view flags = pattern.substr(at + 2);
        flags = flags.substr(0, flags.find_first_not_of("imsU-"));
        const std::size_t minus = flags.find('-');
        if (minus != npos && flags.find('m', minus) != npos) {
            return true;
        }
    }
    return false;
}

} // namespace berth::guest::search

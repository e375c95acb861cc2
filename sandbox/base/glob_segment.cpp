#include "sandbox/base/glob_segment.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/npos.hpp"
#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace berth {

namespace {

std::size_t size_of_first(std::string_view text, GlobUnit unit) noexcept
{
    return unit == GlobUnit::byte ? 1 : std::max<std::size_t>(utf8::character_length(text), 1);
}

/// Code point of the first character; a byte that is none gets a number above all of them.
std::uint32_t number_of_first(std::string_view text, GlobUnit unit) noexcept
{
    const auto first = text.substr(0, size_of_first(text, unit));
    constexpr std::uint32_t above_all = 0x110000;
    return utf8::character_length(first) == 0 ? above_all + static_cast<unsigned char>(first[0])
                                              : utf8::code_point(first);
}

struct NamedSet {
    std::string_view name;
    std::string_view ranges; ///< pairs of first and last
};

constexpr std::array<NamedSet, 11> named_sets{{
    {"alnum", "09AZaz"},
    {"alpha", "AZaz"},
    {"blank", "  \t\t"},
    {"cntrl", "\x01\x1f\x7f\x7f"},
    {"digit", "09"},
    {"graph", "!~"},
    {"lower", "az"},
    {"print", " ~"},
    {"punct", "!/:@[`{~"},
    {"space", "\t\r  "},
    {"upper", "AZ"},
}};

/// `[:name:]` at the start of `text`.
std::optional<NamedSet> named_set(std::string_view text)
{
    if (!text.starts_with("[:")) {
        return std::nullopt;
    }
    for (const NamedSet& set : named_sets) {
        if (text.substr(2).starts_with(set.name) &&
            text.substr(2 + set.name.size()).starts_with(":]")) {
            return set;
        }
    }
    if (text.starts_with("[:xdigit:]")) {
        return NamedSet{"xdigit", "09AFaf"};
    }
    return std::nullopt;
}

Error bad_pattern(const std::string& what, std::size_t offset)
{
    return Error(ErrorCode::invalid_argument,
                 "bad glob pattern: " + what + " at character " + std::to_string(offset + 1),
                 "write a backslash before a character that is meant literally");
}

} // namespace

std::size_t set_end(std::string_view text, std::size_t at) noexcept
{
    std::size_t next = at + 1;
    if (next < text.size() && (text[next] == '!' || text[next] == '^')) {
        ++next;
    }
    bool first = true;
    while (next < text.size()) {
        if (text[next] == ']' && !first) {
            return next + 1;
        }
        first = false;
        if (const auto named = named_set(text.substr(next))) {
            next += named->name.size() + 4;
        } else {
            next += text[next] == '\\' ? 2U : 1U;
        }
    }
    return npos;
}

void GlobSegment::add_text(std::string_view text)
{
    if (tokens_.empty() || tokens_.back().kind != Kind::text) {
        tokens_.push_back({.kind = Kind::text, .text = {}, .ranges = {}});
    }
    tokens_.back().text += text;
}

std::size_t GlobSegment::add_set(std::string_view text, std::size_t at, std::size_t offset)
{
    const std::size_t end = set_end(text, at);
    if (end == npos) {
        throw bad_pattern("'[' is never closed", offset + at);
    }
    Token token{.kind = Kind::set, .text = {}, .ranges = {}};
    std::size_t next = at + 1;
    token.negated = text[next] == '!' || text[next] == '^';
    next += token.negated ? 1U : 0U;
    const auto take = [&] {
        next += text[next] == '\\' ? 1U : 0U;
        const std::uint32_t value = number_of_first(text.substr(next), unit_);
        next += size_of_first(text.substr(next), unit_);
        return value;
    };
    while (next < end - 1) {
        if (const auto named = named_set(text.substr(next))) {
            for (std::size_t i = 0; i < named->ranges.size(); i += 2) {
                token.ranges.emplace_back(named->ranges[i], named->ranges[i + 1]);
            }
            next += named->name.size() + 4;
            continue;
        }
        const std::size_t begin = next;
        const std::uint32_t first = take();
        std::uint32_t last = first;
        if (next + 1 < end - 1 && text[next] == '-') {
            ++next;
            last = take();
        }
        if (last < first) {
            throw bad_pattern("a range that ends before it begins", offset + begin);
        }
        token.ranges.emplace_back(first, last);
    }
    tokens_.push_back(std::move(token));
    return end;
}

GlobSegment GlobSegment::compile(std::string_view text, std::size_t offset, GlobUnit unit)
{
    GlobSegment segment;
    segment.unit_ = unit;
    for (std::size_t at = 0; at < text.size();) {
        switch (text[at]) {
        case '*':
            if (segment.tokens_.empty() || segment.tokens_.back().kind != Kind::any_run) {
                segment.tokens_.push_back({.kind = Kind::any_run, .text = {}, .ranges = {}});
            }
            ++at;
            break;
        case '?':
            segment.tokens_.push_back({.kind = Kind::any_character, .text = {}, .ranges = {}});
            ++at;
            break;
        case '[':
            at = segment.add_set(text, at, offset);
            break;
        case '\\':
            if (at + 1 == text.size()) {
                throw bad_pattern("a backslash with nothing after it", offset + at);
            }
            segment.add_text(text.substr(at + 1, 1));
            at += 2;
            break;
        default:
            segment.add_text(text.substr(at, 1));
            ++at;
        }
    }
    return segment;
}

std::size_t GlobSegment::match_one(const Token& token, std::string_view rest) const noexcept
{
    if (token.kind == Kind::text) {
        return rest.starts_with(token.text) ? token.text.size() : npos;
    }
    if (rest.empty()) {
        return npos;
    }
    if (token.kind == Kind::set) {
        const std::uint32_t value = number_of_first(rest, unit_);
        const bool inside = std::ranges::any_of(token.ranges, [&](const auto& range) {
            return value >= range.first && value <= range.second;
        });
        if (inside == token.negated) {
            return npos;
        }
    }
    return size_of_first(rest, unit_);
}

// Going back to the last `*` only is enough (what an earlier one could take, the last can too), so
// no pattern takes more than size of pattern times size of name.
bool GlobSegment::matches(std::string_view name) const noexcept
{
    std::size_t token = 0;
    std::size_t at = 0;
    std::size_t retry_token = npos;
    std::size_t retry_at = 0;
    for (;;) {
        if (token == tokens_.size()) {
            if (at == name.size()) {
                return true;
            }
        } else if (tokens_[token].kind == Kind::any_run) {
            retry_token = ++token;
            retry_at = at;
            if (token == tokens_.size()) {
                return true;
            }
            continue;
        } else if (const std::size_t used = match_one(tokens_[token], name.substr(at));
                   used != npos) {
            at += used;
            ++token;
            continue;
        }
        if (retry_token == npos || retry_at >= name.size()) {
            return false;
        }
        retry_at += size_of_first(name.substr(retry_at), unit_);
        token = retry_token;
        at = retry_at;
    }
}

int GlobSegment::last_byte() const noexcept
{
    if (tokens_.empty() || tokens_.back().kind != Kind::text) {
        return -1;
    }
    return static_cast<unsigned char>(tokens_.back().text.back());
}

bool GlobSegment::is_literal() const noexcept
{
    return tokens_.empty() || (tokens_.size() == 1 && tokens_.front().kind == Kind::text);
}

std::string GlobSegment::literal() const
{
    return tokens_.empty() ? std::string() : tokens_.front().text;
}

} // namespace berth

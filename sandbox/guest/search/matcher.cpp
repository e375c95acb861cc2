#include "sandbox/guest/search/matcher.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/npos.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/search/block_reader.hpp"
#include "sandbox/guest/search/newline_patterns.hpp"
#include "sandbox/guest/search/required_literals.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace berth::guest::search {

namespace {

constexpr std::int64_t regex_memory = 8L << 20U;
constexpr std::size_t max_regex = 64UL << 10U;

/// Instructions: RE2's slowest way takes up to 20 ns for each of them and byte of text.
constexpr std::size_t max_program = 50'000;
/// Instructions times bytes that RE2 gets at once, and so between two looks at the clock and at the
/// stop token: one to two seconds at its slowest.
constexpr std::size_t max_work = 1UL << 27U;
/// The same where a match may span lines: half of a file would be no search of it, so up to ten
/// seconds at RE2's slowest are better than to leave a file out that ripgrep searches.
constexpr std::size_t max_whole_work = 1UL << 30U;
/// The first two for a matcher that is to be small.
constexpr std::int64_t small_memory = 1L << 20U;
constexpr std::size_t max_small_program = 2'000;
constexpr std::size_t min_block = 64UL << 10U; // less would not be read at once either
constexpr std::size_t max_window = 64UL << 10U;

/// Shorter ones are met so often that asking RE2 for each line costs more than it saves.
constexpr std::size_t min_filter_size = 3;

Error bad_pattern(const std::string& what, std::string hint)
{
    return Error(ErrorCode::invalid_argument, "bad pattern: " + what, std::move(hint));
}

bool is_look_around(std::string_view operation)
{
    return operation.starts_with("(?=") || operation.starts_with("(?!") ||
           operation.starts_with("(?<");
}

/// Whether a "(?<" of the pattern begins a group's name. RE2, which takes those since 2023, told of
/// them before that in the same words as of a look-behind.
bool names_a_group(std::string_view pattern)
{
    for (std::size_t at = pattern.find("(?<"); at != npos; at = pattern.find("(?<", at + 3)) {
        const char next = at + 3 < pattern.size() ? pattern[at + 3] : '=';
        if (next != '=' && next != '!') {
            return true;
        }
    }
    return false;
}

Error explain(const re2::RE2& regex, std::string_view pattern)
{
    const std::string& argument = regex.error_arg();
    const std::string fixed_hint = "set `fixed` to search for the text as it stands";
    if (regex.error_code() == re2::RE2::ErrorBadPerlOp && argument.starts_with("(?<") &&
        names_a_group(pattern)) {
        return bad_pattern("a group cannot be named with (?<name> here",
                           "write (?P<name>...), or (...) without a name; " + fixed_hint);
    }
    if (regex.error_code() == re2::RE2::ErrorBadPerlOp && is_look_around(argument)) {
        return bad_pattern("look-around (" + argument + ") is not supported",
                           "match more and look at the lines, or pipe rg -P or grep -P in "
                           "bash_exec; " +
                               fixed_hint);
    }
    if (regex.error_code() == re2::RE2::ErrorBadEscape && argument.size() == 2 &&
        argument[1] >= '1' && argument[1] <= '9') {
        return bad_pattern("backreferences (" + argument + ") are not supported",
                           "write the repeated text out, or use grep -P in bash_exec; " +
                               fixed_hint);
    }
    const std::size_t at = pattern.find(argument);
    const std::string where =
        at == npos || argument.empty() ? std::string() : " at character " + std::to_string(at + 1);
    return bad_pattern(regex.error() + where,
                       "the syntax is RE2's: escape ( ) [ ] { } . * + ? ^ $ | \\ with a backslash "
                       "where they are meant literally, or " +
                           fixed_hint);
}

bool is_plain_text(std::string_view pattern)
{
    return pattern.find_first_of("\\^$.|?*+()[]{}") == npos;
}

/// The longest part whose letters have no other form than their two ASCII ones: 'k' also matches
/// the Kelvin sign and 's' the long s.
std::string_view longest_ascii_foldable(std::string_view text)
{
    std::string_view best;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        const bool stop = at == text.size() || static_cast<unsigned char>(text[at]) >= 0x80 ||
                          std::string_view("kKsS").find(text[at]) != npos;
        if (stop) {
            if (at - begin > best.size()) {
                best = text.substr(begin, at - begin);
            }
            begin = at + 1;
        }
    }
    return best;
}

/// Turns literals for an exact search into ones for a search in both cases; false: impossible.
bool make_foldable(RequiredLiterals& literals)
{
    for (std::string& literal : literals.any_of) {
        const std::string part(longest_ascii_foldable(literal));
        literals.whole = literals.whole && part.size() == literal.size();
        literal = part;
    }
    return std::ranges::none_of(literals.any_of, &std::string::empty);
}

std::size_t line_begin(std::string_view text, std::size_t at) noexcept
{
    return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
}

std::size_t line_end(std::string_view text, std::size_t at) noexcept
{
    return std::min(text.find('\n', at), text.size());
}

/// Of whole lines from `from` on: as many as fit into `size` bytes, at least one.
std::size_t window_end(std::string_view text, std::size_t from, std::size_t size) noexcept
{
    if (text.size() - from <= size) {
        return text.size();
    }
    const std::size_t newline = text.substr(from, size).rfind('\n');
    return newline == npos ? line_end(text, from) : from + newline;
}

/// There is no line after the last newline, so nothing matches there.
bool is_past_last_line(std::string_view text, std::size_t at) noexcept
{
    return at == text.size() && (text.empty() || text.back() == '\n');
}

} // namespace

Matcher::Span lines_around(std::string_view text, Matcher::Span span) noexcept
{
    const std::size_t last = span.end > span.begin ? span.end - 1 : span.end;
    return {.begin = line_begin(text, span.begin), .end = line_end(text, last)};
}

Matcher::Matcher(std::string_view pattern, const MatcherOptions& options) : options_(options)
{
    if (pattern.size() > max_regex) {
        throw bad_pattern(
            "it has " + std::to_string(pattern.size()) + " bytes, more than 64 KiB",
            "search for a part of it, or write its alternatives to a file, one a line, "
            "and run grep -rnEf FILE in bash_exec");
    }
    if (pattern.find('\0') != npos) {
        throw bad_pattern("it has a NUL byte in it",
                          "leave it out: files that have one are binary, and are not searched");
    }
    options_.fixed = options.fixed || is_plain_text(pattern);
    if (!options_.multiline &&
        (options_.fixed ? pattern.find('\n') != npos : asks_for_newline(pattern))) {
        throw bad_pattern("a newline can only match with `multiline`",
                          "set `multiline`, or search for one of the lines");
    }
    one_by_one_ = !options_.fixed && tells_text_from_lines(pattern);
    extract_literals(pattern);
    const bool literal_is_all = literals_decide_ && literals_->literals().size() == 1;
    if (!literal_is_all || !options_.fixed) {
        compile(pattern); // also to know that it is a pattern
    }
    limit_blocks(literal_is_all ? 1 : static_cast<std::size_t>(regex_->ProgramSize()));
    if (literal_is_all) {
        regex_.reset();
    }
}

void Matcher::limit_blocks(std::size_t program_size)
{
    const std::size_t most = options_.small ? max_small_program : max_program;
    if (program_size > most) {
        throw bad_pattern("it stands for " + std::to_string(program_size) +
                              " instructions, more than " + std::to_string(most),
                          "lower the numbers in its {n,m}");
    }
    const std::size_t size = std::max<std::size_t>(program_size, 1);
    max_piece_ = (options_.multiline ? max_whole_work : max_work) / size;
    max_block_ = std::clamp(max_piece_, min_block,
                            options_.multiline ? BlockReader::max_whole : BlockReader::max_line);
}

Matcher::~Matcher() = default;

void Matcher::compile(std::string_view pattern)
{
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(options_.small ? small_memory : regex_memory);
    options.set_never_nl(!options_.multiline);
    options.set_never_capture(true);
    options.set_literal(options_.fixed);
    options.set_case_sensitive(!options_.ignore_case);
    regex_ = std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
    if (!regex_->ok()) {
        throw explain(*regex_, pattern);
    }
    if (!options_.fixed) {
        // Compiled bare first, so that errors quote what the caller wrote.
        regex_ = std::make_unique<re2::RE2>("(?m)" + std::string(pattern), options);
    }
    if (!regex_->ok()) {
        throw explain(*regex_, pattern);
    }
}

void Matcher::extract_literals(std::string_view pattern)
{
    if (pattern.empty() || !utf8::is_valid(pattern)) {
        return;
    }
    std::optional<RequiredLiterals> found;
    if (options_.fixed) {
        found = RequiredLiterals{.any_of = {std::string(pattern)}, .whole = true};
    } else {
        found = required_literals(pattern);
    }
    if (!found || (options_.ignore_case && !make_foldable(*found))) {
        return;
    }
    const std::size_t shortest = std::ranges::min(found->any_of, {}, &std::string::size).size();
    const bool in_lines = std::ranges::none_of(
        found->any_of, [](const std::string& literal) { return literal.find('\n') != npos; });
    // Several literals come in the order of their lines only, so not for spans over lines.
    literals_decide_ = found->whole && (found->any_of.size() == 1 || in_lines);
    if (literals_decide_ || (shortest >= min_filter_size && in_lines)) {
        literals_.emplace(std::move(found->any_of), options_.ignore_case);
    }
}

bool Matcher::may_scan(std::size_t bytes, ScanMeter& meter) const noexcept
{
    if (bytes > max_piece_) {
        // Half of a line or file says nothing about its matches: rather none, and it is told.
        meter.give_up();
    }
    return meter.may_scan(bytes);
}

std::optional<Matcher::Span> Matcher::find(std::string_view text, std::size_t from,
                                           ScanMeter& meter) const
{
    if (!regex_) {
        const LiteralSet::Hit hit = literals_->find(text, from);
        return hit ? std::optional(Span{hit.at, hit.at + hit.size}) : std::nullopt;
    }
    re2::StringPiece match;
    if (!may_scan(text.size() - from, meter) ||
        !regex_->Match(re2::StringPiece(text.data(), text.size()), from, text.size(),
                       re2::RE2::UNANCHORED, &match, 1)) {
        return std::nullopt;
    }
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    return Span{.begin = begin, .end = begin + match.size()};
}

bool Matcher::occurs(std::string_view text, Span between, ScanMeter& meter) const
{
    if (!regex_) {
        const LiteralSet::Hit hit = literals_->find(text.substr(0, between.end), between.begin);
        return static_cast<bool>(hit);
    }
    return may_scan(between.end - between.begin, meter) &&
           regex_->Match(re2::StringPiece(text.data(), text.size()), between.begin, between.end,
                         re2::RE2::UNANCHORED, nullptr, 0);
}

bool Matcher::matches_line(std::string_view line, ScanMeter& meter) const
{
    return may_scan(line.size(), meter) &&
           regex_->Match(re2::StringPiece(line.data(), line.size()), 0, line.size(),
                         re2::RE2::UNANCHORED, nullptr, 0);
}

std::optional<Matcher::Span> Matcher::find_by_literals(std::string_view text, std::size_t from,
                                                       ScanMeter& meter) const
{
    while (from < text.size() && !meter.exhausted()) {
        const LiteralSet::Hit hit = literals_->find(text, from);
        if (!hit) {
            return std::nullopt;
        }
        const Span line = lines_around(text, {.begin = hit.at, .end = hit.at});
        if (literals_decide_ ||
            matches_line(text.substr(line.begin, line.end - line.begin), meter)) {
            return line;
        }
        from = line.end + 1;
    }
    return std::nullopt;
}

/// A few lines at a time, as lines have nothing to do with each other.
std::optional<Matcher::Span> Matcher::find_by_windows(std::string_view text, std::size_t from,
                                                      ScanMeter& meter) const
{
    const std::size_t window = one_by_one_ ? 0 : std::min(max_piece_, max_window);
    while (from < text.size() && !meter.exhausted()) {
        const std::size_t end = window_end(text, from, window);
        const auto match = find(text.substr(from, end - from), 0, meter);
        if (match && !is_past_last_line(text, from + match->begin)) {
            const std::size_t at = from + match->begin;
            return lines_around(text, {.begin = at, .end = at});
        }
        from = end + 1;
    }
    return std::nullopt;
}

std::optional<Matcher::Span> Matcher::find_spanning(std::string_view text, std::size_t from,
                                                    ScanMeter& meter) const
{
    if (literals_ && !literals_->find(text, from)) {
        return std::nullopt;
    }
    auto match = find(text, from, meter);
    if (!match || is_past_last_line(text, match->begin)) {
        return std::nullopt;
    }
    Span lines = lines_around(text, *match);
    // Matches that begin on lines already taken extend them.
    for (;;) {
        const std::size_t next = match->end > match->begin ? match->end : match->end + 1;
        if (next > lines.end || next > text.size()) {
            return lines;
        }
        match = find(text, next, meter);
        if (!match || match->begin > lines.end) {
            return lines;
        }
        lines.end = std::max(lines.end, lines_around(text, *match).end);
    }
}

std::optional<Matcher::Span> Matcher::find_lines(std::string_view text, std::size_t from,
                                                 ScanMeter& meter) const
{
    if (from >= text.size()) {
        return std::nullopt;
    }
    if (options_.multiline) {
        return find_spanning(text, from, meter);
    }
    if (literals_) {
        return find_by_literals(text, from, meter);
    }
    return find_by_windows(text, from, meter);
}

} // namespace berth::guest::search

#include "sandbox/guest/search/file_renderer.hpp"

#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest::search {

namespace {

std::uint64_t count_newlines(std::string_view text)
{
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

std::size_t line_end(std::string_view text, std::size_t at)
{
    return std::min(text.find('\n', at), text.size());
}

bool continues_character(char c) noexcept
{
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Where the character begins that is `count` before the one at `at`.
std::size_t characters_back(std::string_view text, std::size_t at, std::uint64_t count)
{
    for (; count > 0 && at > 0; --count) {
        --at;
        while (at > 0 && continues_character(text[at])) {
            --at;
        }
    }
    return at;
}

/// The first `limit` characters.
std::string_view first_characters(std::string_view text, std::uint64_t limit)
{
    if (limit == 0 || text.size() <= limit) {
        return text;
    }
    std::size_t at = 0;
    for (std::uint64_t taken = 0; taken < limit && at < text.size(); ++taken) {
        at += std::max<std::size_t>(utf8::character_length(text.substr(at)), 1);
    }
    return text.substr(0, at);
}

/// Where to begin when `limit` characters of a line are shown, so that its match is among them.
std::size_t window_begin(std::string_view line, Matcher::Span match, std::uint64_t limit)
{
    if (match.end <= first_characters(line, limit).size()) {
        return 0;
    }
    constexpr std::uint64_t share_before = 4;
    const std::size_t begin = characters_back(line, match.begin, limit / share_before);
    // Near the end of the line there is room for more of what is before.
    return std::min(begin, characters_back(line, line.size(), limit));
}

} // namespace

bool FileRenderer::finished() const noexcept
{
    return budget_.exceeded() || (units_ >= end_ && after_left_ == 0);
}

void FileRenderer::add(protocol::GrepLine line)
{
    if (!budget_.take(line.text.size() + 1, match_due_ && line.is_match)) {
        return;
    }
    match_due_ = match_due_ && !line.is_match;
    const bool groups = options_.before > 0 || options_.after > 0;
    line.group_start = groups && !out_.lines.empty() && line.number > out_.lines.back().number + 1;
    out_.lines.push_back(std::move(line));
}

void FileRenderer::emit_context(std::uint64_t number, std::string_view text)
{
    const std::string_view shown = first_characters(text, options_.line_limit);
    add({.number = number,
         .text = std::string(shown),
         .is_match = false,
         .cut = shown.size() < text.size()});
}

void FileRenderer::keep_before(std::string_view text, std::size_t begin, std::size_t end,
                               std::uint64_t end_number)
{
    // Backwards from `end`, which is the begin of line `end_number` or the end of the text.
    std::size_t at = end;
    std::uint64_t lines = 0;
    while (at > begin && lines < options_.before) {
        at = at - 1 == begin ? begin : text.rfind('\n', at - 2) + 1;
        at = std::max(at, begin);
        ++lines;
    }
    const bool unfinished = end > begin && text[end - 1] != '\n';
    std::uint64_t number = end_number - lines + (unfinished ? 1U : 0U);
    while (at < end) {
        const std::size_t stop = line_end(text, at);
        const std::string_view line = text.substr(at, stop - at);
        const std::string_view shown = first_characters(line, options_.line_limit);
        before_.push_back({.number = number++,
                           .text = std::string(shown),
                           .is_match = false,
                           .cut = shown.size() < line.size()});
        at = stop + 1;
    }
    while (before_.size() > options_.before) {
        before_.pop_front();
    }
}

void FileRenderer::pass_gap(std::string_view text, std::size_t begin, std::size_t end)
{
    while (after_left_ > 0 && begin < end) {
        const std::size_t stop = line_end(text, begin);
        emit_context(line_, text.substr(begin, stop - begin));
        --after_left_;
        line_ += stop < text.size() ? 1U : 0U;
        begin = stop + 1;
    }
    if (begin >= end) {
        return;
    }
    line_ += count_newlines(text.substr(begin, end - begin));
    if (options_.before > 0) {
        keep_before(text, begin, end, line_);
    }
}

/// Leaves out what is farthest from the match.
void FileRenderer::fit_before()
{
    std::uint64_t needed = 0;
    std::size_t kept = 0;
    while (kept < before_.size()) {
        needed += before_[before_.size() - 1 - kept].text.size() + 1;
        if (needed > budget_.left()) {
            break;
        }
        ++kept;
    }
    out_.context_omitted = before_.size() - kept;
    before_.erase(before_.begin(), before_.end() - static_cast<std::ptrdiff_t>(kept));
}

/// Whether the next unit is one to show; if so what comes before it has been shown.
bool FileRenderer::begin_unit()
{
    const std::uint64_t unit = units_++;
    if (unit < skip_ || unit >= end_) {
        before_.clear();
        return false;
    }
    if (match_due_) {
        fit_before();
    }
    for (protocol::GrepLine& line : before_) {
        add(std::move(line));
    }
    before_.clear();
    after_left_ = options_.after;
    return true;
}

/// In the line; empty at its begin when all of it belongs to a match that began before.
Matcher::Span FileRenderer::first_match(std::string_view text, Matcher::Span line)
{
    const std::size_t base = matcher_.multiline() ? 0 : line.begin;
    const std::string_view subject =
        matcher_.multiline() ? text : text.substr(base, line.end - base);
    const auto match = matcher_.find(subject, line.begin - base, *meter_);
    if (!match || base + match->begin > line.end) {
        return {};
    }
    return {.begin = base + match->begin - line.begin,
            .end = std::min(base + match->end, line.end) - line.begin};
}

void FileRenderer::show_lines(std::string_view text, Matcher::Span lines)
{
    for (std::size_t at = lines.begin; at <= lines.end;) {
        const std::size_t stop = std::min(line_end(text, at), lines.end);
        if (units_ == end_) {
            after_left_ = 0; // the limit cuts through the match: what follows is no context
        } else if (begin_unit()) {
            const std::string_view line = text.substr(at, stop - at);
            const std::uint64_t limit = options_.line_limit;
            const bool is_long = first_characters(line, limit).size() < line.size();
            const std::size_t begin =
                is_long ? window_begin(line, first_match(text, {.begin = at, .end = stop}), limit)
                        : 0;
            const std::string_view shown = first_characters(line.substr(begin), limit);
            add({.number = line_,
                 .text = std::string(shown),
                 .cut = begin + shown.size() < line.size(),
                 .cut_front = begin > 0});
        }
        line_ += stop < text.size() ? 1U : 0U;
        at = stop + 1;
    }
}

/// Each of its lines is one of the report.
void FileRenderer::show_occurrence(std::string_view text, Matcher::Span match)
{
    std::uint64_t number = line_;
    for (std::size_t at = match.begin; at <= match.end;) {
        const std::size_t stop = std::min(line_end(text, at), match.end);
        const std::string_view line = text.substr(at, stop - at);
        const std::string_view shown = first_characters(line, options_.line_limit);
        add({.number = number++,
             .text = std::string(shown),
             .cut = shown.size() < line.size(),
             .continues = at > match.begin});
        at = stop + 1;
        if (at == match.end && text[stop] == '\n') {
            break; // the match ended with the newline
        }
    }
}

void FileRenderer::show_occurrences(std::string_view text, Matcher::Span lines, LastEnd& last_end)
{
    std::size_t counted = lines.begin;
    for_each_occurrence(matcher_, text, lines, last_end, *meter_, [&](Matcher::Span match) {
        if (units_ >= end_ || !begin_unit()) {
            return;
        }
        line_ += count_newlines(text.substr(counted, match.begin - counted));
        counted = match.begin;
        show_occurrence(text, match);
    });
    line_ += count_newlines(text.substr(counted, lines.end - counted));
    line_ += lines.end < text.size() ? 1U : 0U;
}

void FileRenderer::render_block(std::string_view text, bool continues_line)
{
    std::size_t at = 0;
    const bool was_matched = std::exchange(open_line_matched_, false);
    if (continues_line) {
        const std::size_t stop = line_end(text, 0);
        const bool shown = was_matched && !options_.only_matching;
        if (shown || !matcher_.find_lines(text.substr(0, stop), 0, *meter_)) {
            open_line_matched_ = was_matched && stop == text.size();
            line_ += stop < text.size() ? 1U : 0U;
            at = stop + 1;
        }
    }
    LastEnd last_end;
    while (at < text.size() && !finished()) {
        const auto lines = units_ < end_ ? matcher_.find_lines(text, at, *meter_) : std::nullopt;
        pass_gap(text, at, lines ? lines->begin : text.size());
        if (!lines) {
            return;
        }
        if (options_.only_matching) {
            show_occurrences(text, *lines, last_end);
        } else {
            show_lines(text, *lines);
        }
        open_line_matched_ = lines->end == text.size();
        at = lines->end + 1;
    }
}

std::uint64_t FileRenderer::render(BlockReader& reader, int fd, std::uint64_t skip,
                                   std::uint64_t take)
{
    skip_ = skip;
    end_ = skip + take;
    reader.open(fd, matcher_.multiline(), matcher_.max_block());
    meter_ = &reader.meter();
    while (!finished() && reader.next() == BlockReader::Status::block) {
        render_block(reader.block(), reader.continues_line());
    }
    reader.close();
    return units_;
}

} // namespace berth::guest::search

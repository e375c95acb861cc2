#include "sandbox/guest/search/file_renderer.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/search/occurrences.hpp"

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

} // namespace

bool FileRenderer::finished() const noexcept
{
    return budget_.exceeded() || (units_ >= end_ && after_left_ == 0);
}

void FileRenderer::emit_cut(std::uint64_t number, std::string text, bool is_match, bool cut)
{
    if (!budget_.take(text.size() + 1)) {
        return;
    }
    const bool groups = options_.before > 0 || options_.after > 0;
    const bool gap = groups && !out_.lines.empty() && number > out_.lines.back().number + 1;
    out_.lines.push_back({.number = number,
                          .text = std::move(text),
                          .is_match = is_match,
                          .cut = cut,
                          .group_start = gap});
}

void FileRenderer::emit(std::uint64_t number, std::string_view text, bool is_match)
{
    const std::string_view shown = first_characters(text, options_.line_limit);
    emit_cut(number, std::string(shown), is_match, shown.size() < text.size());
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
        before_.push_back({number++, std::string(shown), shown.size() < line.size()});
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
        emit(line_, text.substr(begin, stop - begin), false);
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

/// Whether the next unit is one to show; if so what comes before it has been shown.
bool FileRenderer::begin_unit()
{
    const std::uint64_t unit = units_++;
    if (unit < skip_ || unit >= end_) {
        before_.clear();
        return false;
    }
    for (Context& context : before_) {
        emit_cut(context.number, std::move(context.text), false, context.cut);
    }
    before_.clear();
    after_left_ = options_.after;
    return true;
}

void FileRenderer::show_lines(std::string_view text, Matcher::Span lines)
{
    for (std::size_t at = lines.begin; at <= lines.end;) {
        const std::size_t stop = std::min(line_end(text, at), lines.end);
        if (units_ == end_) {
            after_left_ = 0; // the limit cuts through the match: what follows is no context
        } else if (begin_unit()) {
            emit(line_, text.substr(at, stop - at), true);
        }
        line_ += stop < text.size() ? 1U : 0U;
        at = stop + 1;
    }
}

void FileRenderer::show_occurrences(std::string_view text, Matcher::Span lines)
{
    std::size_t counted = lines.begin;
    for_each_occurrence(matcher_, text, lines, [&](Matcher::Span match) {
        if (units_ >= end_ || !begin_unit()) {
            return;
        }
        line_ += count_newlines(text.substr(counted, match.begin - counted));
        counted = match.begin;
        std::uint64_t number = line_;
        for (std::size_t at = match.begin; at <= match.end;) {
            const std::size_t stop = std::min(line_end(text, at), match.end);
            emit(number++, text.substr(at, stop - at), true);
            at = stop + 1;
            if (at == match.end && text[stop] == '\n') {
                break; // the match ended with the newline
            }
        }
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
        if (shown || !matcher_.find_lines(text.substr(0, stop), 0)) {
            open_line_matched_ = was_matched && stop == text.size();
            line_ += stop < text.size() ? 1U : 0U;
            at = stop + 1;
        }
    }
    while (at < text.size() && !finished()) {
        const auto lines = units_ < end_ ? matcher_.find_lines(text, at) : std::nullopt;
        pass_gap(text, at, lines ? lines->begin : text.size());
        if (!lines) {
            return;
        }
        if (options_.only_matching) {
            show_occurrences(text, *lines);
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
    reader.open(fd, matcher_.multiline());
    while (!finished() && reader.next() == BlockReader::Status::block) {
        render_block(reader.block(), reader.continues_line());
    }
    return units_;
}

} // namespace berth::guest::search

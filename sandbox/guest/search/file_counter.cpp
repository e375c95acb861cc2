#include "sandbox/guest/search/file_counter.hpp"

#include "sandbox/guest/search/occurrences.hpp"

namespace berth::guest::search {

namespace {

std::uint64_t units_in(const Matcher& matcher, std::string_view text, Matcher::Span lines,
                       bool occurrences)
{
    if (!occurrences) {
        return matcher.multiline() ? line_count(text, lines) : 1;
    }
    std::uint64_t units = 0;
    for_each_occurrence(matcher, text, lines, [&](Matcher::Span) { ++units; });
    return units;
}

} // namespace

FileCount count_matches(BlockReader& reader, int fd, const Matcher& matcher,
                        const CountOptions& options)
{
    FileCount count;
    bool open_line_matched = false; // the last line so far goes on, and has been counted
    reader.open(fd, matcher.multiline());
    while ((count.end = reader.next()) == BlockReader::Status::block) {
        const std::string_view text = reader.block();
        std::size_t from = 0;
        if (reader.continues_line() && open_line_matched && !options.occurrences) {
            from = std::min(text.find('\n'), text.size() - 1) + 1;
            open_line_matched = from == text.size() && !text.ends_with('\n');
        } else {
            open_line_matched = false;
        }
        while (const auto lines = matcher.find_lines(text, from)) {
            count.units += units_in(matcher, text, *lines, options.occurrences);
            if (options.first_only) {
                count.end = BlockReader::Status::end;
                return count;
            }
            open_line_matched = lines->end == text.size();
            from = lines->end + 1;
        }
    }
    return count;
}

} // namespace berth::guest::search

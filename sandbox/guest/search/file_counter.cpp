#include "sandbox/guest/search/file_counter.hpp"

#include "sandbox/guest/search/occurrences.hpp"

namespace berth::guest::search {

namespace {

std::uint64_t units_in(const Matcher& matcher, std::string_view text, Matcher::Span lines,
                       bool occurrences, LastEnd& last_end, ScanMeter& meter)
{
    if (!occurrences) {
        return matcher.multiline() ? line_count(text, lines) : 1;
    }
    std::uint64_t units = 0;
    for_each_occurrence(matcher, text, lines, last_end, meter, [&](Matcher::Span) { ++units; });
    return units;
}

FileCount count_blocks(BlockReader& reader, const Matcher& matcher, const CountOptions& options)
{
    FileCount count;
    bool open_line_matched = false; // the last line so far goes on, and has been counted
    while ((count.end = reader.next()) == BlockReader::Status::block) {
        const std::string_view text = reader.block();
        std::size_t from = 0;
        LastEnd last_end;
        if (reader.continues_line() && open_line_matched && !options.occurrences) {
            from = std::min(text.find('\n'), text.size() - 1) + 1;
            open_line_matched = from == text.size() && !text.ends_with('\n');
        } else {
            open_line_matched = false;
        }
        while (const auto lines = matcher.find_lines(text, from, reader.meter())) {
            // A line that matches may have no occurrence that counts.
            count.units += options.first_only ? 1
                                              : units_in(matcher, text, *lines, options.occurrences,
                                                         last_end, reader.meter());
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

} // namespace

FileCount count_matches(BlockReader& reader, int fd, const Matcher& matcher,
                        const CountOptions& options)
{
    reader.open(fd, matcher.multiline(), matcher.max_block());
    const FileCount count = count_blocks(reader, matcher, options);
    reader.close();
    return count;
}

} // namespace berth::guest::search

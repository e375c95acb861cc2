#include "sandbox/guest/files/read_text.hpp"

#include "sandbox/guest/files/file_facts.hpp"
#include "sandbox/guest/files/last_lines.hpp"
#include "sandbox/guest/files/read_limits.hpp"
#include "sandbox/guest/files/text_pass.hpp"

#include <algorithm>

namespace berth::guest {
namespace {

using protocol::ReadFileReply;
using protocol::ReadFileRequest;

TextWindow window_of(const ReadFileRequest& request, std::uint64_t skip)
{
    return {.skip = skip,
            .limit = request.limit,
            .budget = request.budget == 0 ? max_content : std::min(request.budget, max_content)};
}

ReadFileReply read_from_begin(const Opened& file, const ReadFileRequest& request,
                              TextEncoding encoding, PieceReader& reader, std::string_view piece)
{
    ReadFileReply reply;
    FileFacts facts(file);
    TextPass pass(encoding, window_of(request, request.offset));
    while (!piece.empty()) {
        facts.feed(piece);
        pass.feed(piece);
        if (!facts.hashed() && pass.page_full()) {
            break; // the totals of a file that large are not worth the seconds
        }
        piece = reader.next();
    }
    pass.finish();
    pass.give_page(reply);
    pass.describe(reply);
    reply.first_line = reply.line_count > 0 ? request.offset + 1 : 0;
    facts.finish(reply);
    reply.totals_partial = facts.fed() < reply.size;
    const bool more =
        reply.first_line + reply.line_count <= reply.total_lines || reply.totals_partial;
    if (reply.truncated_by.empty() && reply.line_count == request.limit && more) {
        reply.truncated_by = "limit";
    }
    return reply;
}

/// Reads the page that begins at byte `begin` plus `window.skip` lines.
void read_page(const Opened& file, std::uint64_t begin, std::uint64_t size, TextPass& pass,
               const CallContext& context)
{
    PieceReader reader(file.fd.get(), begin, size - std::min(size, begin), file.path, context);
    for (auto piece = reader.next(); !piece.empty() && !pass.page_full(); piece = reader.next()) {
        pass.feed(piece);
    }
    pass.finish();
}

/// Of a file that was counted to its end: its lines have numbers.
void number_lines(const LastLines& last, ReadFileReply& reply)
{
    const std::uint64_t first = reply.total_lines - std::min(last.lines, reply.total_lines) + 1;
    reply.first_line = reply.line_count > 0 ? first : 0;
}

/// In passes: one over the whole file, unless it is too large, for its facts; one from the end to
/// where the lines begin; and one over what is shown.
ReadFileReply read_from_end(const Opened& file, const ReadFileRequest& request,
                            TextEncoding encoding, PieceReader& reader, std::string_view piece,
                            const CallContext& context)
{
    ReadFileReply reply;
    FileFacts facts(file);
    TextPass whole(encoding, TextWindow{});
    for (; facts.hashed() && !piece.empty(); piece = reader.next()) {
        facts.feed(piece);
        whole.feed(piece);
    }
    whole.finish();
    facts.finish(reply);
    const bool sized = file.status.st_size > 0;
    // What does not say its size can only be read from its beginning.
    const std::uint64_t lines = std::min(request.from_end, whole.lines());
    const LastLines last =
        sized ? find_last_lines(file, reply.size, request.from_end, encoding, context)
              : LastLines{.lines = lines, .final_newline = false};
    const std::uint64_t skip = sized ? 0 : whole.lines() - lines;
    TextPass page(encoding, window_of(request, skip), last.begin == 0);
    read_page(file, last.begin, sized ? reply.size : size_to_read(file), page, context);
    page.give_page(reply);
    if (facts.hashed()) {
        whole.describe(reply);
        number_lines(last, reply);
    } else {
        page.describe(reply);
        reply.total_lines = last.lines;
        reply.final_newline = last.final_newline;
        reply.totals_partial = true;
        reply.lines_from_end = reply.line_count > 0 ? last.lines : 0;
    }
    if (reply.truncated_by.empty() && reply.line_count < last.lines) {
        reply.truncated_by = "limit";
    }
    return reply;
}

} // namespace

ReadFileReply read_text(const Opened& file, const ReadFileRequest& request, TextEncoding encoding,
                        PieceReader& reader, std::string_view piece, const CallContext& context)
{
    return request.from_end > 0 ? read_from_end(file, request, encoding, reader, piece, context)
                                : read_from_begin(file, request, encoding, reader, piece);
}

} // namespace berth::guest

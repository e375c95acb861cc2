// A text read by lines, in whatever pieces it comes: SKIP LIMIT BUDGET, a byte each ==== TEXT.

#include "sandbox/guest/files/text_pass.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/files/line_walk.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using berth::fuzz::require;
using berth::guest::LineSplitter;
using berth::guest::TextPass;
using berth::guest::WalkedLine;

berth::protocol::ReadFileReply finished(TextPass& pass)
{
    pass.finish();
    berth::protocol::ReadFileReply reply;
    pass.give_page(reply);
    pass.describe(reply);
    return reply;
}

void check_lines(std::string_view text)
{
    std::string walked;
    std::uint64_t lines = 0;
    LineSplitter splitter;
    const auto take = [&](const WalkedLine& line) {
        require(line.begin == walked.size() && line.number == ++lines, "lines come in order");
        const auto whole = text.substr(line.begin, line.end - line.begin);
        require(whole.starts_with(line.text), "a line is told from its beginning on");
        walked += whole;
    };
    berth::fuzz::each_piece(text, [&](std::string_view piece) { splitter.feed(piece, take); });
    splitter.finish(take);
    require(walked == text, "no byte is in no line");
}

} // namespace

BERTH_FUZZ_TARGET(text_pass)
{
    const auto [numbers, text] = berth::fuzz::parts_of<2>(input);
    const auto encoding = berth::guest::sniff_encoding(text);
    const berth::guest::TextWindow window{.skip = berth::fuzz::byte_at(numbers, 0),
                                          .limit = berth::fuzz::byte_at(numbers, 1),
                                          .budget = berth::fuzz::byte_at(numbers, 2) * 16UL};
    TextPass whole(encoding, window);
    whole.feed(text);
    TextPass pieces(encoding, window);
    berth::fuzz::each_piece(text, [&](std::string_view piece) { pieces.feed(piece); });
    const auto reply = finished(whole);
    require(berth::utf8::is_valid(reply.content), "what is shown is UTF-8");
    require(reply.content.size() <= window.budget, "the budget is kept");
    require(reply.line_count <= window.limit, "the limit is kept");
    require(berth::protocol::encode(reply) == berth::protocol::encode(finished(pieces)),
            "pieces make no difference");
    check_lines(text);
    (void)berth::guest::mime_type(text);
    (void)berth::guest::wide_encoding(text);
}

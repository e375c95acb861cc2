// UTF-16 in pieces, through the decoder of read_file and the one of the search, which agree: byte
// order, a byte ==== TEXT.

#include "sandbox/guest/files/utf16.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/search/utf16_decoder.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <array>
#include <string>

namespace {

void drain(berth::guest::search::Utf16Decoder& decoder, std::string& out)
{
    std::array<char, 7> room{};
    while (const auto size = decoder.decode(room.data(), room.size())) {
        out.append(room.data(), size);
    }
}

} // namespace

BERTH_FUZZ_TARGET(utf16)
{
    using berth::fuzz::require;
    const auto [order, text] = berth::fuzz::parts_of<2>(input);
    const bool big_endian = (berth::fuzz::byte_at(order, 0) & 1U) != 0;
    std::string read;
    berth::guest::Utf16Decoder reader(big_endian);
    std::string searched;
    berth::guest::search::Utf16Decoder searcher;
    searcher.begin(big_endian);
    berth::fuzz::each_piece(text, [&](std::string_view piece) {
        reader.feed(piece, read);
        searcher.feed(piece);
        drain(searcher, searched);
    });
    reader.finish(read);
    searcher.end();
    drain(searcher, searched);
    require(berth::utf8::is_valid(read), "the result is UTF-8");
    require(read == searched, "both decoders agree");
    std::string whole;
    berth::guest::Utf16Decoder at_once(big_endian);
    at_once.feed(text, whole);
    at_once.finish(whole);
    require(read == whole, "pieces make no difference");
}

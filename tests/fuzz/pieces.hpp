#pragma once

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::fuzz {

/// LIMIT, a byte that counts `unit` bytes, then a stream: whole and in pieces it is the same to a
/// Reader. `take(reader, limit, out)` appends what came out, as it is sent, and is false once the
/// stream is none.
template <class Reader, class Take>
void same_in_pieces(std::string_view input, std::size_t unit, Take take)
{
    if (input.empty()) {
        return;
    }
    const std::size_t limit = byte_at(input, 0) * unit;
    const auto bytes = input.substr(1);
    Reader whole(limit);
    whole.feed(bytes);
    std::string at_once;
    const bool valid = take(whole, limit, at_once);
    Reader cut(limit);
    std::string by_pieces;
    bool still_valid = true;
    each_piece(bytes, [&](std::string_view piece) {
        if (still_valid) {
            cut.feed(piece);
            still_valid = take(cut, limit, by_pieces);
        }
    });
    require(valid == still_valid && at_once == by_pieces, "pieces make no difference");
    require(bytes.starts_with(at_once), "what comes out is what was sent");
    require(!valid || whole.empty() == (at_once.size() == bytes.size()),
            "what is left is waited for");
}

} // namespace berth::fuzz

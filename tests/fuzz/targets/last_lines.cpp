// The last lines of a file, looked for from its end: how many, a byte ==== TEXT.

#include "sandbox/guest/files/last_lines.hpp"

#include "tests/fuzz/guest_document.hpp"
#include "tests/fuzz/input.hpp"

#include <algorithm>

#include <unistd.h>

namespace {

using berth::fuzz::require;

std::uint64_t lines_in(std::string_view text)
{
    return static_cast<std::uint64_t>(std::ranges::count(text, '\n')) +
           (text.empty() || text.ends_with('\n') ? 0 : 1);
}

} // namespace

BERTH_FUZZ_TARGET(last_lines)
{
    const auto [number, text] = berth::fuzz::parts_of<2>(input);
    const std::uint64_t wanted = std::max<std::uint64_t>(berth::fuzz::byte_at(number, 0), 1);
    const berth::fuzz::MemoryFile file(text);
    const berth::guest::Opened opened{
        .fd = berth::UniqueFd(::dup(file.fd())), .path = "/a.txt", .status = {}};
    const berth::fuzz::GuestContext context;
    const auto encoding = berth::guest::sniff_encoding(text);
    const auto last =
        berth::guest::find_last_lines(opened, text.size(), wanted, encoding, context.call);
    require(last.begin <= text.size() && last.lines <= wanted, "no more than wanted");
    using berth::guest::TextEncoding;
    if (encoding == TextEncoding::utf16le || encoding == TextEncoding::utf16be) {
        return;
    }
    const auto mark = berth::guest::bom_size(encoding);
    require(last.lines == std::min(wanted, lines_in(text.substr(mark))), "as many as wanted");
    const auto skipped = text.substr(0, last.begin);
    require(lines_in(text.substr(std::max<std::size_t>(mark, last.begin))) == last.lines,
            "these lines");
    require(skipped.empty() || skipped.ends_with('\n') || skipped.size() == mark, "whole lines");
    require(last.final_newline == text.ends_with('\n'), "the last line's end");
}

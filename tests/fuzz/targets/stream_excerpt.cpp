// What is shown of a command's output: HEAD TAIL BUDGET, a byte each ==== OUTPUT.

#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/exec/kept_text.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tools/output_budget.hpp"

#include <algorithm>
#include <string>

namespace {

using berth::fuzz::require;

std::uint64_t newlines(std::string_view text)
{
    return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

} // namespace

BERTH_FUZZ_TARGET(stream_excerpt)
{
    const auto [numbers, text] = berth::fuzz::parts_of<2>(input);
    berth::guest::KeptText kept(berth::fuzz::byte_at(numbers, 0), berth::fuzz::byte_at(numbers, 1));
    berth::fuzz::each_piece(text, [&](std::string_view piece) { kept.add(piece); });
    berth::protocol::StreamOutput stream;
    stream.head = kept.head();
    stream.tail = kept.tail();
    stream.total_bytes = kept.total_bytes();
    stream.total_lines = kept.total_lines();
    stream.omitted_bytes = kept.omitted_bytes();
    stream.omitted_lines = kept.omitted_lines();
    require(text.starts_with(stream.head) && text.ends_with(stream.tail), "beginning and end");
    require(stream.head.size() + stream.tail.size() + stream.omitted_bytes == text.size(),
            "what was left out is counted");
    require(newlines(stream.head) + newlines(stream.tail) + stream.omitted_lines == newlines(text),
            "lines that were left out are counted");
    const std::size_t budget = berth::fuzz::byte_at(numbers, 2);
    std::string joined;
    const auto excerpt = berth::tools::fit(stream, budget, joined);
    require(excerpt.head.size() + excerpt.tail.size() + excerpt.omitted_bytes == text.size(),
            "what is not shown is counted");
    require(newlines(excerpt.head) + newlines(excerpt.tail) + excerpt.omitted_lines ==
                newlines(text),
            "lines that are not shown are counted");
    require(berth::utf8::count(excerpt.head) + berth::utf8::count(excerpt.tail) <= budget,
            "the budget is kept");
    require(berth::utf8::is_valid(berth::tools::to_text(excerpt)), "what is shown is UTF-8");
}

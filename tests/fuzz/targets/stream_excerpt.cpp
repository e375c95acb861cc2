// What is shown of a command's output: HEAD TAIL BUDGET TREATMENT, a byte each ==== OUTPUT.

#include "sandbox/base/control_characters.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/protocol/folded_text.hpp"
#include "sandbox/protocol/kept_text.hpp"
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

/// Within its budget, and whole but for what is counted.
void check_shown(const berth::protocol::StreamOutput& stream, std::string_view text,
                 std::string_view numbers)
{
    const std::size_t budget = berth::fuzz::byte_at(numbers, 2);
    const auto treatment =
        static_cast<berth::ControlCharacters>(berth::fuzz::byte_at(numbers, 3) % 3);
    std::string joined;
    const auto excerpt = berth::tools::fit(stream, budget, treatment, joined);
    require(excerpt.head.size() + excerpt.tail.size() + excerpt.omitted_bytes +
                    stream.folded_bytes ==
                text.size(),
            "what is not shown is counted");
    require(newlines(excerpt.head) + newlines(excerpt.tail) + excerpt.omitted_lines ==
                newlines(text),
            "lines that are not shown are counted");
    require(berth::shown_characters(excerpt.head, treatment) +
                    berth::shown_characters(excerpt.tail, treatment) <=
                budget,
            "the budget is kept");
    require(berth::utf8::is_valid(berth::tools::to_text(excerpt, treatment).text),
            "what is shown is UTF-8");
}

/// Whether there is a last line without its end of which nothing is kept: sequences alone.
bool ends_in_sequences(std::string_view text)
{
    const auto last = text.substr(text.rfind('\n') + 1);
    berth::protocol::FoldedText folded(last.size(), 0);
    folded.add(last);
    berth::protocol::StreamOutput shown;
    folded.put_into(shown);
    return !last.empty() && shown.head.empty();
}

} // namespace

BERTH_FUZZ_TARGET(stream_excerpt)
{
    const auto [numbers, text] = berth::fuzz::parts_of<2>(input);
    const auto head_limit = berth::fuzz::byte_at(numbers, 0);
    const auto tail_limit = berth::fuzz::byte_at(numbers, 1);
    berth::protocol::KeptText kept(head_limit, tail_limit);
    berth::protocol::FoldedText folded(head_limit, tail_limit);
    berth::fuzz::each_piece(text, [&](std::string_view piece) {
        kept.add(piece);
        folded.add(piece);
    });
    berth::protocol::StreamOutput stream;
    stream.head = kept.head();
    stream.tail = kept.tail();
    stream.total_bytes = kept.total_bytes();
    stream.total_lines = kept.total_lines();
    stream.omitted_bytes = kept.omitted_bytes();
    stream.omitted_lines = kept.omitted_lines();
    require(text.starts_with(stream.head) && text.ends_with(stream.tail), "beginning and end");
    check_shown(stream, text, numbers);

    berth::protocol::StreamOutput bar;
    folded.put_into(bar);
    const auto lines = stream.total_lines - (ends_in_sequences(text) ? 1 : 0);
    require(bar.total_bytes == text.size() && bar.total_lines == lines, "totals");
    check_shown(bar, text, numbers);

    berth::protocol::FoldedText at_once(head_limit, tail_limit);
    at_once.add(text);
    berth::protocol::StreamOutput same;
    at_once.put_into(same);
    require(same.head == bar.head && same.tail == bar.tail &&
                same.folded_bytes == bar.folded_bytes && same.folded_updates == bar.folded_updates,
            "pieces make no difference");
}

// The diff of an edit, which gives the new text when it is applied to the old one: OLD ==== NEW.

#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/files/edit_diff.hpp"
#include "sandbox/guest/files/line_diff.hpp"
#include "tests/fuzz/applied_diff.hpp"
#include "tests/fuzz/guest_document.hpp"
#include "tests/fuzz/input.hpp"

#include <algorithm>

namespace {

using berth::fuzz::GuestDocument;
using berth::fuzz::require;

void check_diff(const GuestDocument& document, const berth::guest::Document& changed,
                std::string_view old_text, std::string_view new_text)
{
    constexpr std::uint64_t ample = 64UL * 1024 * 1024;
    constexpr std::uint64_t scarce = 200;
    require(document.text() == new_text, "the changes make the new text");
    const auto diff = berth::guest::unified_diff(changed, ample, false, false);
    require(berth::utf8::is_valid(diff.text), "a diff is UTF-8");
    if (!diff.truncated && berth::utf8::is_valid(old_text) && berth::utf8::is_valid(new_text)) {
        require(berth::fuzz::applied_diff(diff.text, old_text) == new_text,
                "the diff makes the new text of the old one");
    }
    const auto shortened = berth::guest::unified_diff(changed, scarce, false, false);
    require(shortened.text.size() <= scarce, "the budget is kept");
    require(shortened.truncated || shortened.text == diff.text, "what is left out is told");
}

/// By lines, the last change first, so that the places of the others stay what they are.
void change_lines(GuestDocument& document, std::string_view old_text, std::string_view new_text)
{
    const auto old_lines = berth::guest::split_lines(old_text);
    const auto new_lines = berth::guest::split_lines(new_text);
    const auto place = [](const auto& lines, std::string_view text, std::size_t line) {
        return line < lines.size() ? static_cast<std::size_t>(lines[line].data() - text.data())
                                   : text.size();
    };
    auto changes = berth::guest::diff_lines(old_lines, new_lines);
    std::ranges::reverse(changes);
    for (const auto& change : changes) {
        const auto begin = place(old_lines, old_text, change.old_line);
        const auto end = place(old_lines, old_text, change.old_line + change.removed);
        const auto from = place(new_lines, new_text, change.new_line);
        const auto to = place(new_lines, new_text, change.new_line + change.added);
        document->replace({begin}, end - begin, new_text.substr(from, to - from));
    }
}

/// All between the first and the last byte that differ.
void change_bytes(GuestDocument& document, std::string_view old_text, std::string_view new_text)
{
    const auto same = std::ranges::mismatch(old_text, new_text);
    const auto begin = static_cast<std::size_t>(same.in1 - old_text.begin());
    old_text.remove_prefix(begin);
    new_text.remove_prefix(begin);
    while (!old_text.empty() && !new_text.empty() && old_text.back() == new_text.back()) {
        old_text.remove_suffix(1);
        new_text.remove_suffix(1);
    }
    document->replace({begin}, old_text.size(), new_text);
}

} // namespace

BERTH_FUZZ_TARGET(unified_diff)
{
    const auto [old_text, new_text] = berth::fuzz::parts_of<2>(input);
    for (const auto change : {&change_lines, &change_bytes}) {
        GuestDocument document(old_text);
        change(document, old_text, new_text);
        check_diff(document, *document, old_text, new_text);
    }
}

#include "tools/output_budget.hpp"

#include "sandbox/base/utf8.hpp"
#include "tools/render.hpp"

#include <algorithm>
#include <utility>

namespace berth::tools {
namespace {

std::uint64_t newlines(std::string_view text)
{
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Ends after its last newline, when that costs no more than a quarter of it.
std::string_view end_at_line(std::string_view head)
{
    const auto last = head.rfind('\n');
    return last != std::string_view::npos && last + 1 >= head.size() - (head.size() / 4)
               ? head.substr(0, last + 1)
               : head;
}

std::string_view begin_at_line(std::string_view tail)
{
    const auto first = tail.find('\n');
    return first != std::string_view::npos && first + 1 <= tail.size() / 4 ? tail.substr(first + 1)
                                                                           : tail;
}

bool is_continuation(char c)
{
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The guest cuts at bytes: what is there of a cut character belongs to what is left out.
std::string_view without_broken_end(std::string_view head)
{
    constexpr std::size_t longest = 4;
    for (std::size_t back = 1; back <= std::min(head.size(), longest - 1); ++back) {
        const auto end = head.substr(head.size() - back);
        if (!is_continuation(end[0])) {
            return utf8::character_length(end) == 0 ? head.substr(0, head.size() - back) : head;
        }
    }
    return head;
}

std::string_view without_broken_start(std::string_view tail)
{
    for (int i = 0; i < 3 && !tail.empty() && is_continuation(tail[0]); ++i) {
        tail.remove_prefix(1);
    }
    return tail;
}

} // namespace

StreamBudgets divide_budget(std::size_t budget, std::size_t out, std::size_t err)
{
    const std::size_t err_share =
        std::min(err, std::max(budget / 4, budget - std::min(budget, out)));
    return {std::min(out, budget - err_share), err_share};
}

std::string_view prefix_characters(std::string_view text, std::size_t characters,
                                   ControlCharacters treatment)
{
    std::size_t end = 0;
    while (end < text.size()) {
        const Unit unit = first_unit(text.substr(end), treatment);
        if (unit.characters > characters) {
            break;
        }
        characters -= unit.characters;
        end += unit.bytes;
    }
    return text.substr(0, end);
}

std::string_view suffix_characters(std::string_view text, std::size_t characters,
                                   ControlCharacters treatment)
{
    // From the beginning: backwards nobody could tell where an escape sequence begins.
    for (std::size_t left = shown_characters(text, treatment); left > characters;) {
        const Unit unit = first_unit(text, treatment);
        left -= unit.characters;
        text.remove_prefix(unit.bytes);
    }
    return text;
}

std::size_t known_characters(const protocol::StreamOutput& stream, ControlCharacters treatment)
{
    return shown_characters(stream.head, treatment) + shown_characters(stream.tail, treatment);
}

Excerpt fit(const protocol::StreamOutput& stream, std::size_t budget, ControlCharacters treatment,
            std::string& joined)
{
    std::string_view head = stream.head;
    std::string_view tail = stream.tail;
    const bool whole = stream.omitted_bytes == 0;
    if (whole) {
        if (!tail.empty()) {
            joined = stream.head + stream.tail;
            head = tail = joined;
        } else {
            tail = head;
        }
        if (prefix_characters(head, budget, treatment).size() == head.size()) {
            return {head, {}, 0, 0};
        }
    } else {
        head = without_broken_end(head);
        tail = without_broken_start(tail);
    }
    const std::size_t head_budget = budget * head_percent / 100;
    Excerpt excerpt;
    excerpt.head = end_at_line(prefix_characters(head, head_budget, treatment));
    excerpt.tail = begin_at_line(suffix_characters(tail, budget - head_budget, treatment));

    const std::uint64_t kept = whole ? head.size() : stream.head.size() + stream.tail.size();
    const std::uint64_t kept_lines =
        whole ? newlines(head) : newlines(stream.head) + newlines(stream.tail);
    excerpt.omitted_bytes = stream.omitted_bytes + kept - excerpt.head.size() - excerpt.tail.size();
    excerpt.omitted_lines =
        stream.omitted_lines + kept_lines - newlines(excerpt.head) - newlines(excerpt.tail);
    return excerpt;
}

ShownText to_text(const Excerpt& excerpt, ControlCharacters treatment)
{
    ShownText shown = show(excerpt.head, treatment);
    if (excerpt.omitted_bytes == 0) {
        return shown;
    }
    std::string& text = shown.text;
    if (!text.empty() && text.back() != '\n') {
        text += '\n';
    }
    text += "[... ";
    if (excerpt.omitted_lines > 0) {
        text += counted(excerpt.omitted_lines, "line") + " (" + human_bytes(excerpt.omitted_bytes) +
                ")";
    } else {
        text += human_bytes(excerpt.omitted_bytes);
    }
    text += " left out ...]\n";
    const ShownText tail = show(excerpt.tail, treatment);
    text += tail.text;
    shown.sequences += tail.sequences;
    return shown;
}

std::pair<ShownStream, ShownStream> show_streams(const protocol::StreamOutput& out,
                                                 const protocol::StreamOutput& err,
                                                 std::size_t budget, ControlCharacters treatment)
{
    const auto budgets =
        divide_budget(budget, known_characters(out, treatment), known_characters(err, treatment));
    const auto shown = [&](const protocol::StreamOutput& stream, std::size_t share) {
        std::string storage;
        const Excerpt excerpt = fit(stream, share, treatment, storage);
        ShownText text = to_text(excerpt, treatment);
        return ShownStream{std::move(text.text), excerpt.omitted_bytes, excerpt.omitted_lines,
                           text.sequences};
    };
    return {shown(out, budgets.out), shown(err, budgets.err)};
}

} // namespace berth::tools

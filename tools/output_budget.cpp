#include "tools/output_budget.hpp"

#include "sandbox/base/utf8.hpp"
#include "tools/render.hpp"

#include <algorithm>

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

std::string_view prefix_characters(std::string_view text, std::size_t characters)
{
    std::size_t end = 0;
    for (; characters > 0 && end < text.size(); --characters) {
        end += std::max<std::size_t>(utf8::character_length(text.substr(end)), 1);
    }
    return text.substr(0, end);
}

std::string_view suffix_characters(std::string_view text, std::size_t characters)
{
    constexpr std::size_t longest = 4;
    std::size_t begin = text.size();
    for (; characters > 0 && begin > 0; --characters) {
        std::size_t step = 1;
        for (std::size_t length = 2; length <= std::min(longest, begin); ++length) {
            if (utf8::character_length(text.substr(begin - length, length)) == length) {
                step = length;
                break;
            }
        }
        begin -= step;
    }
    return text.substr(begin);
}

std::size_t known_characters(const protocol::StreamOutput& stream)
{
    return utf8::count(stream.head) + utf8::count(stream.tail);
}

Excerpt fit(const protocol::StreamOutput& stream, std::size_t budget, std::string& joined)
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
        if (prefix_characters(head, budget).size() == head.size()) {
            return {head, {}, 0, 0};
        }
    } else {
        head = without_broken_end(head);
        tail = without_broken_start(tail);
    }
    const std::size_t head_budget = budget * head_percent / 100;
    Excerpt excerpt;
    excerpt.head = end_at_line(prefix_characters(head, head_budget));
    excerpt.tail = begin_at_line(suffix_characters(tail, budget - head_budget));

    const std::uint64_t kept = whole ? head.size() : stream.head.size() + stream.tail.size();
    const std::uint64_t kept_lines =
        whole ? newlines(head) : newlines(stream.head) + newlines(stream.tail);
    excerpt.omitted_bytes = stream.omitted_bytes + kept - excerpt.head.size() - excerpt.tail.size();
    excerpt.omitted_lines =
        stream.omitted_lines + kept_lines - newlines(excerpt.head) - newlines(excerpt.tail);
    return excerpt;
}

std::string to_text(const Excerpt& excerpt)
{
    std::string text = utf8::sanitize(excerpt.head);
    if (excerpt.omitted_bytes == 0) {
        return text;
    }
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
    return text + utf8::sanitize(excerpt.tail);
}

} // namespace berth::tools

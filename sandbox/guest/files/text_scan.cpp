#include "sandbox/guest/files/text_scan.hpp"

#include "sandbox/base/utf8.hpp"

#include <algorithm>
#include <cstring>

namespace berth::guest {
namespace {

/// Length of the leading run of ASCII, eight bytes at a step.
std::size_t ascii_run(std::string_view text) noexcept
{
    std::size_t length = 0;
    while (length + 8 <= text.size()) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + length, 8);
        if ((word & 0x8080808080808080U) != 0) {
            break;
        }
        length += 8;
    }
    while (length < text.size() && static_cast<unsigned char>(text[length]) < 0x80) {
        ++length;
    }
    return length;
}

} // namespace

void LineCounter::feed(std::string_view piece) noexcept
{
    if (piece.empty()) {
        return;
    }
    const char* begin = piece.data();
    const char* const end = begin + piece.size();
    for (const char* at = begin; at < end; ++at) {
        at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (at == nullptr) {
            break;
        }
        ++newlines_;
        const char before = at == begin ? last_ : at[-1];
        crlf_ += before == '\r' ? 1 : 0;
    }
    last_ = piece.back();
    any_ = true;
}

std::string LineCounter::line_ending() const
{
    if (newlines_ == 0) {
        return "";
    }
    return crlf_ == newlines_ ? "crlf" : crlf_ == 0 ? "lf" : "mixed";
}

void Utf8Check::feed(std::string_view piece)
{
    // First the character that the last piece began.
    while (valid_ && !carry_.empty() && !piece.empty()) {
        carry_ += piece.front();
        piece.remove_prefix(1);
        if (utf8::character_length(carry_) == carry_.size()) {
            carry_.clear();
        } else if (carry_.size() >= 4) {
            valid_ = false;
        }
    }
    while (valid_ && !piece.empty()) {
        piece.remove_prefix(ascii_run(piece));
        const std::size_t length = utf8::character_length(piece);
        if (length > 0) {
            piece.remove_prefix(length);
        } else if (piece.size() < 4) {
            carry_ = piece;
            return;
        } else {
            valid_ = false;
        }
    }
}

LineWindow::LineWindow(std::uint64_t offset, std::uint64_t limit, std::uint64_t budget)
    : skip_(offset), limit_(limit), budget_(budget), full_(limit == 0)
{
}

void LineWindow::end_line()
{
    std::string line = utf8::is_valid(line_) ? std::move(line_) : utf8::sanitize(line_);
    line_.clear();
    if (content_.size() + line.size() <= budget_) {
        content_ += line;
        full_ = ++line_count_ == limit_;
        return;
    }
    full_ = true;
    if (line_count_ > 0) {
        truncated_by_ = "budget";
        return;
    }
    content_ = utf8::prefix_bytes(line, static_cast<std::size_t>(budget_));
    line_count_ = 1;
    truncated_by_ = "line";
}

void LineWindow::feed(std::string_view piece)
{
    while (!full_ && !piece.empty()) {
        const auto newline = piece.find('\n');
        const bool ends = newline != std::string_view::npos;
        const auto part = piece.substr(0, ends ? newline + 1 : piece.size());
        piece.remove_prefix(part.size());
        if (skip_ > 0) {
            skip_ -= ends ? 1 : 0;
            continue;
        }
        // Four bytes more than can be kept: enough to see that it is too long.
        const std::uint64_t room = budget_ + 4 - std::min<std::uint64_t>(line_.size(), budget_ + 4);
        line_ +=
            part.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, part.size())));
        if (ends || line_.size() > budget_) {
            end_line();
        }
    }
}

void LineWindow::finish()
{
    if (!full_ && !line_.empty()) {
        end_line();
    }
    full_ = true;
}

} // namespace berth::guest

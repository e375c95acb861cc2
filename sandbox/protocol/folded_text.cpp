#include "sandbox/protocol/folded_text.hpp"

#include "sandbox/base/control_characters.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::protocol {
namespace {

/// Of one rewriting in bytes: a bar over a wide terminal, with colours, has less than half of it.
constexpr std::size_t longest_held = 4096;

constexpr std::string_view erasing = "\x1b[2K";
constexpr std::array<std::string_view, 4> returning = {"\x1b[G", "\x1b[0G", "\x1b[1G", erasing};

/// Bytes of what takes the line back at the beginning of `text`; 0: there is no such thing.
std::size_t return_length(std::string_view text) noexcept
{
    if (text.starts_with('\r')) {
        return 1;
    }
    const auto* const found = std::ranges::find_if(
        returning, [&](std::string_view sequence) { return text.starts_with(sequence); });
    return found == returning.end() ? 0 : found->size();
}

bool begins_return(std::string_view text) noexcept
{
    return std::ranges::any_of(
        returning, [&](std::string_view sequence) { return sequence.starts_with(text); });
}

/// One that ends in `data`.
bool has_sequence(std::string_view before, std::string_view data)
{
    before.remove_prefix(before.size() - std::min(before.size(), longest_return));
    const std::string seam = std::string(before) + std::string(data.substr(0, longest_return));
    const auto occurs = [](std::string_view text, std::size_t behind) {
        return std::ranges::any_of(returning, [&](std::string_view sequence) {
            const auto at = text.find(sequence);
            return at != std::string_view::npos && at + sequence.size() > behind;
        });
    };
    return data.find("\x1b[") != std::string_view::npos
               ? occurs(data, 0) || occurs(seam, before.size())
               : occurs(seam, before.size());
}

std::string carriage_returns(std::string_view returns)
{
    return std::string(static_cast<std::size_t>(std::ranges::count(returns, '\r')), '\r');
}

} // namespace

bool has_return(std::string_view before, std::string_view data)
{
    return data.find('\r') != std::string_view::npos || has_sequence(before, data);
}

bool has_rewriting(std::string_view before, std::string_view data)
{
    if (data.empty()) {
        return false;
    }
    if ((before.ends_with('\r') && data.front() != '\n') || has_sequence(before, data)) {
        return true;
    }
    for (auto at = data.find('\r'); at != std::string_view::npos; at = data.find('\r', at)) {
        const auto end = std::min(data.find_first_not_of('\r', at), data.size());
        if (end - at > longest_line_end || (end < data.size() && data[end] != '\n')) {
            return true;
        }
        at = end;
    }
    return false;
}

void FoldedText::add(std::string_view data)
{
    while (!data.empty()) {
        if (!begun_.empty()) {
            finish_begun(data);
            continue;
        }
        const auto end = std::min(data.find_first_of("\r\x1b"), data.size());
        add_shown(data.substr(0, end));
        data.remove_prefix(end);
        if (const auto length = return_length(data); length > 0) {
            add_return(data.substr(0, length));
            data.remove_prefix(length);
        } else if (!data.empty() && begins_return(data)) {
            begun_ = data;
            data = {};
        } else if (!data.empty()) {
            add_shown(data.substr(0, 1));
            data.remove_prefix(1);
        }
    }
}

/// With one more byte what has begun is a sequence, may still become one, or is none.
void FoldedText::finish_begun(std::string_view& data)
{
    begun_ += data.front();
    if (return_length(begun_) > 0) {
        add_return(std::exchange(begun_, {}));
    } else if (!begins_return(begun_)) {
        begun_.pop_back();
        add_shown(std::exchange(begun_, {}));
        return;
    }
    data.remove_prefix(1);
}

void FoldedText::add_return(std::string_view bytes)
{
    erased_ |= bytes == erasing;
    if (return_count_ < longest_line_end) {
        ++return_count_;
        returns_ += bytes;
    } else {
        folded_bytes_ += bytes.size(); // many of them do what one does
    }
}

void FoldedText::add_shown(std::string_view text)
{
    if (!text.empty()) {
        if (return_count_ > 0) {
            take_returns(text.front());
        }
        add_text(text);
    }
}

/// Decides, by what follows them, what returns were.
void FoldedText::take_returns(char next)
{
    const std::string returns = std::exchange(returns_, {});
    return_count_ = 0;
    const bool erased = std::exchange(erased_, false);
    if ((next == '\n' && !erased) || too_long_ || next == '\0' ||
        held_.find('\0') != std::string::npos) {
        const auto kept = carriage_returns(returns);
        release();
        kept_.add(kept);
        folded_bytes_ += returns.size() - kept.size();
        return;
    }
    folded_bytes_ += held_.size() + returns.size();
    folded_updates_ += held_.empty() ? 0U : 1U;
    held_.clear();
}

void FoldedText::add_text(std::string_view text)
{
    if (const auto newline = text.rfind('\n'); newline != std::string_view::npos) {
        release();
        kept_.add(text.substr(0, newline + 1));
        text.remove_prefix(newline + 1);
    }
    if (!too_long_ && held_.size() + text.size() > longest_held) {
        release();
        too_long_ = true;
    }
    if (too_long_) {
        kept_.add(text);
    } else {
        held_ += text;
    }
}

void FoldedText::release()
{
    kept_.add(held_);
    held_.clear();
    too_long_ = false;
}

KeptText FoldedText::with_held(std::string_view returns) const
{
    KeptText text = kept_;
    text.add(held_);
    text.add(returns);
    text.add(begun_);
    return text;
}

std::string FoldedText::whole() const
{
    const KeptText text = with_held(returns_);
    return text.head() + text.tail();
}

void FoldedText::put_into(StreamOutput& out) const
{
    const auto returns = carriage_returns(returns_);
    KeptText text = with_held(returns);
    out.total_bytes = total_bytes();
    out.total_lines = text.total_lines();
    out.omitted_bytes = text.omitted_bytes();
    out.omitted_lines = text.omitted_lines();
    out.folded_bytes = folded_bytes_ + returns_.size() - returns.size();
    out.folded_updates = folded_updates_;
    std::move(text).move_to(out.head, out.tail);
}

} // namespace berth::protocol

#include "sandbox/guest/exec/folded_text.hpp"

#include "sandbox/base/control_characters.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {
namespace {

/// Of one rewriting in bytes: a bar over a wide terminal, with colours, has less than half of it.
constexpr std::size_t longest_held = 4096;

} // namespace

bool has_rewriting(bool behind_return, std::string_view data)
{
    if (data.empty()) {
        return false;
    }
    if (behind_return && data.front() != '\n') {
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
        if (returns_ > 0 && data.front() != '\r') {
            take_returns(data.front());
        }
        const auto end = std::min(data.find('\r'), data.size());
        add_text(data.substr(0, end));
        data.remove_prefix(end);
        if (!data.empty()) {
            add_return();
            data.remove_prefix(1);
        }
    }
}

void FoldedText::add_return()
{
    if (returns_ < longest_line_end) {
        ++returns_;
    } else {
        ++folded_bytes_; // many of them do what one does
    }
}

/// Decides, by what follows them, what carriage returns were.
void FoldedText::take_returns(char next)
{
    const std::string returns(std::exchange(returns_, 0), '\r');
    if (next == '\n' || too_long_ || next == '\0' || held_.find('\0') != std::string::npos) {
        release();
        kept_.add(returns);
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

KeptText FoldedText::with_held() const
{
    KeptText text = kept_;
    text.add(held_);
    text.add(std::string(returns_, '\r'));
    return text;
}

std::string FoldedText::whole() const
{
    const KeptText text = with_held();
    return text.head() + text.tail();
}

void FoldedText::put_into(protocol::StreamOutput& out) const
{
    KeptText text = with_held();
    out.total_bytes = total_bytes();
    out.total_lines = text.total_lines();
    out.omitted_bytes = text.omitted_bytes();
    out.omitted_lines = text.omitted_lines();
    out.folded_bytes = folded_bytes_;
    out.folded_updates = folded_updates_;
    std::move(text).move_to(out.head, out.tail);
}

} // namespace berth::guest

#include "sandbox/guest/exec/line_filter.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/search/search_limits.hpp"

#include <algorithm>
#include <stop_token>
#include <utility>

namespace berth::guest {
namespace {

constexpr std::size_t longest_window = 256UL * 1024;
/// Before what is judged of a window, so that its begin is not taken for the line's: a character,
/// and as much as is cut off with one.
constexpr std::size_t context = 8;
/// Bytes that one is written with: \xff.
constexpr std::size_t widest_byte = 4;

/// What is shown of it is the same.
bool is_plain(std::string_view line) noexcept
{
    return std::ranges::all_of(line, [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

/// Its last state, and what was never folded.
std::string folded(std::string_view line)
{
    protocol::FoldedText text(line.size(), 0);
    text.add(line);
    protocol::StreamOutput out;
    text.put_into(out);
    return std::move(out.head);
}

std::string_view without_end(std::string_view line) noexcept
{
    line.remove_suffix(line.ends_with('\n') ? 1 : 0);
    return line.substr(0, line.find_last_not_of('\r') + 1);
}

} // namespace

LineFilter::LineFilter(std::shared_ptr<const search::Matcher> matcher, ControlCharacters treatment,
                       std::uint64_t head_limit, std::uint64_t tail_limit)
    : matcher_(std::move(matcher)), treatment_(treatment),
      longest_(std::min(longest_window, matcher_->max_piece() / widest_byte)),
      kept_(head_limit, tail_limit)
{
}

std::size_t LineFilter::add(std::string_view piece, const Leave& leave)
{
    std::size_t taken = 0;
    while (taken < piece.size()) {
        const auto newline = piece.find('\n', taken);
        const std::size_t end = newline == std::string_view::npos ? piece.size() : newline + 1;
        // A part has room in the window, so that each is judged before the next is taken.
        const std::size_t size = std::min(end - taken, longest_ - window_.size());
        add_part(piece.substr(taken, size));
        taken += size;
        const bool whole = taken == end && newline != std::string_view::npos;
        if (whole) {
            finish_line();
        } else if (window_.size() == longest_) {
            next_window();
        } else {
            continue;
        }
        if (leave()) {
            break;
        }
    }
    return taken;
}

void LineFilter::add_part(std::string_view part)
{
    line_bytes_ += part.size();
    if (before_) {
        kept_.add(part);
    }
    if (!matched_) {
        window_ += part;
    }
}

/// The window is full, and the line goes on.
void LineFilter::next_window()
{
    if (!before_) {
        before_ = kept_;
        kept_.add(window_);
    }
    window_ = folded(window_);
    if (window_.size() <= longest_ / 2) {
        return; // a bar: there is room again
    }
    matched_ = has_match(/*to_end=*/false);
    window_ = std::string(matched_ ? std::string_view()
                                   : utf8::suffix_bytes(window_, longest_ / 4 + context));
    from_begin_ = false;
}

void LineFilter::finish_line()
{
    if (line_bytes_ > 0) {
        end_line(matched_ || has_match(/*to_end=*/true));
    }
}

void LineFilter::take_match()
{
    if (line_bytes_ == judged_) {
        return;
    }
    if (matched_ || has_match(/*to_end=*/true)) {
        end_line(true);
    } else {
        judged_ = line_bytes_;
    }
}

void LineFilter::drop_line()
{
    if (line_bytes_ > 0) {
        end_line(false);
    }
}

std::uint64_t LineFilter::leave_line()
{
    if (before_) {
        end_line(matched_);
        return 0;
    }
    window_.clear();
    judged_ = 0;
    return std::exchange(line_bytes_, 0);
}

void LineFilter::end_line(bool matches)
{
    if (!matches) {
        ++filtered_lines_;
        filtered_bytes_ += line_bytes_;
        if (before_) {
            kept_ = std::move(*before_);
        }
    } else if (!before_) {
        kept_.add(window_);
    }
    before_.reset();
    window_.clear();
    line_bytes_ = 0;
    judged_ = 0;
    from_begin_ = true;
    matched_ = false;
}

/// `to_end`: the line ends, or is judged as if it did, where the window does.
bool LineFilter::has_match(bool to_end) const
{
    // Without limits: a window is as much as RE2 may get at once.
    search::SearchLimits limits(std::stop_token(), 0);
    search::ScanMeter meter(limits);
    meter.begin_block();
    std::string storage;
    std::string_view text = to_end ? without_end(window_) : window_;
    if (!is_plain(text)) {
        storage = show(folded(text), treatment_).text;
        text = storage;
    }
    const std::size_t begin = from_begin_ ? 0 : std::min<std::size_t>(1, text.size());
    const std::size_t end =
        to_end ? text.size() : text.size() - std::min<std::size_t>(1, text.size());
    return begin <= end && matcher_->occurs(text, {.begin = begin, .end = end}, meter);
}

} // namespace berth::guest

#include "sandbox/guest/exec/job_reader.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace berth::guest {
namespace {

/// Read in one turn of the loop, so that it gets back to the others.
constexpr std::uint64_t bytes_per_turn = 1UL << 20;
constexpr std::size_t piece_size = 64UL * 1024;
/// An unfinished line is handed out after so long: a prompt has no newline.
constexpr std::chrono::milliseconds prompt_time{200};
/// A line that is longer is taken in pieces.
constexpr std::uint64_t longest_line = 64UL * 1024;
/// One that grows all the time, such as a row of dots, is not held back for longer.
constexpr std::chrono::milliseconds longest_hold{1000};
/// A line that is rewritten stands still after so long: what draws bars does so once a second.
constexpr std::chrono::milliseconds still_time{3000};

bool take_number(std::string_view& text, std::uint64_t& number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data()) {
        return false;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

} // namespace

JobCursor JobCursor::parse(const std::string& text)
{
    JobCursor cursor;
    std::string_view rest = text;
    if (rest.empty()) {
        return cursor;
    }
    bool good = take_number(rest, cursor.out) && rest.starts_with('-');
    if (good) {
        rest.remove_prefix(1);
        good = take_number(rest, cursor.err) && cursor.to_text() == text;
    }
    if (!good) {
        throw Error(ErrorCode::invalid_argument,
                    "since: " + visible_beginning(text, 60) + " is no cursor of a job",
                    "Give the cursor of an earlier result as it stands, such as 120-0, or leave it "
                    "out to begin at the beginning.");
    }
    return cursor;
}

std::string JobCursor::to_text() const
{
    return std::to_string(out) + "-" + std::to_string(err);
}

JobReader::JobReader(std::uint64_t begin, std::uint64_t head_limit, std::uint64_t tail_limit)
    : begin_(begin), at_(begin), kept_(head_limit, tail_limit)
{
}

JobReader::JobReader(std::uint64_t begin, LineFilter filter)
    : begin_(begin), at_(begin), kept_(0, 0), filter_(std::move(filter))
{
}

bool JobReader::read_on(const OutputStream& stream, std::uint64_t end)
{
    const std::uint64_t turn_end = at_ + bytes_per_turn;
    while (at_ < turn_end && fetch(stream, end)) {
        skip_gap();
        kept_.add(piece_);
        at_ += piece_.size();
    }
    return at_ >= end;
}

bool JobReader::fetch(const OutputStream& stream, std::uint64_t end)
{
    if (at_ >= end) {
        return false;
    }
    found_ = at_;
    piece_ = stream.read(found_, end, piece_size);
    if (piece_.empty()) {
        found_ = std::max(found_, end);
    }
    end_ = end;
    return true;
}

void JobReader::skip_gap()
{
    dropped_ += found_ - at_;
    at_ = found_;
}

void JobReader::judge(const LineFilter::Leave& leave)
{
    if (found_ > at_) {
        filter_->finish_line(); // its rest is lost
        skip_gap();
    }
    at_ += filter_->add(piece_, leave);
    piece_.clear();
    if (at_ >= end_) {
        filter_->take_match();
    }
}

void JobReader::settle(bool goes_on)
{
    if (goes_on) {
        at_ -= filter_->leave_line();
    } else {
        filter_->drop_line();
    }
}

protocol::JobStream JobReader::result(const OutputStream& stream) const
{
    protocol::JobStream out;
    out.text = stream.result(); // for its file
    kept().put_into(out.text);
    out.begin = begin_;
    out.end = at_;
    out.dropped = dropped_;
    out.filtered_lines = filter_ ? filter_->filtered_lines() : 0;
    out.filtered_bytes = filter_ ? filter_->filtered_bytes() : 0;
    out.written = stream.total_bytes();
    out.spill_begin = stream.spill_begin();
    return out;
}

namespace {

/// When an unfinished line, of which there is something new, is news to who waits. A pause says
/// that somebody is asked something; of one that is rewritten, a progress bar, only that it stands
/// still.
BootClock::time_point news_time(const OutputStream& stream, const JobWaiter& waiter)
{
    auto time = stream.last_data() + still_time;
    const bool continues = waiter.begin > stream.lines_end(); // what was shown before
    if (!stream.is_rewritten()) {
        const auto held_since = continues ? std::max(stream.unfinished_since(), waiter.since)
                                          : stream.unfinished_since();
        time = std::min(stream.last_data() + prompt_time, held_since + longest_hold);
    }
    return continues ? std::max(time, waiter.since + longest_hold) : time;
}

} // namespace

Readable readable(const OutputStream& stream, std::uint64_t at, const JobWaiter& waiter,
                  BootClock::time_point now)
{
    const std::uint64_t total = stream.total_bytes();
    const std::uint64_t lines = stream.lines_end();
    Readable result{.end = std::max(stream.characters_end(), std::min(at, total))};
    const bool has_new = result.end > waiter.begin;
    if (stream.fd() < 0 || lines == total) {
        result.news = has_new;
        return result;
    }
    const auto wait_until = [&](BootClock::time_point time) {
        result.again = std::min(time, result.again.value_or(time));
    };
    const bool long_line = total - std::max(lines, waiter.begin) >= longest_line;
    const auto news_at = news_time(stream, waiter);
    result.news = lines > waiter.begin ||
                  (has_new && (now >= news_at || (long_line && !stream.is_rewritten())));
    if (has_new && !result.news) {
        wait_until(news_at);
    }
    const auto prompt =
        std::min(stream.last_data() + prompt_time, stream.unfinished_since() + longest_hold);
    if (now < prompt && total - std::max(lines, at) < longest_line) {
        result.end = lines;
        if (total > at) {
            wait_until(prompt);
        }
    }
    return result;
}

} // namespace berth::guest

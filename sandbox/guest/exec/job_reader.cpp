#include "sandbox/guest/exec/job_reader.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/search/search_limits.hpp"

#include <charconv>
#include <chrono>
#include <stop_token>
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
/// For a regular expression in one turn: between two lines, as RE2 cannot be interrupted.
constexpr std::chrono::milliseconds filter_time{10};

bool take_number(std::string_view& text, std::uint64_t& number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data()) {
        return false;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

/// Of a line that was rewritten, what is shown of it: so that ^ means its begin too.
std::string_view last_state(std::string_view line)
{
    const auto end = line.find_last_not_of('\r');
    const auto before = line.rfind('\r', end);
    return end == std::string_view::npos || before == std::string_view::npos
               ? line
               : line.substr(before + 1);
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
                    "since: " + text.substr(0, 60) + " is no cursor of a job",
                    "Give the cursor of an earlier result as it stands, such as 120-0, or leave it "
                    "out to begin at the beginning.");
    }
    return cursor;
}

std::string JobCursor::to_text() const
{
    return std::to_string(out) + "-" + std::to_string(err);
}

JobReader::JobReader(std::uint64_t begin, std::uint64_t head_limit, std::uint64_t tail_limit,
                     const search::Matcher* filter)
    : filter_(filter), begin_(begin), at_(begin), kept_(head_limit, tail_limit)
{
}

bool JobReader::read_on(const OutputStream& stream, std::uint64_t end)
{
    const std::uint64_t turn_end = at_ + bytes_per_turn;
    const auto leave = BootClock::now() + filter_time;
    while (at_ < end && at_ < turn_end && (filter_ == nullptr || BootClock::now() < leave)) {
        std::uint64_t found = at_;
        const std::string piece = stream.read(found, end, piece_size);
        if (found > at_) {
            finish_line(); // its rest is lost
            dropped_ += found - at_;
        }
        at_ = found + add(piece, leave);
        if (piece.empty()) {
            dropped_ += end - std::min(end, at_);
            at_ = std::max(at_, end);
        }
    }
    return at_ >= end;
}

std::size_t JobReader::add(std::string_view piece, BootClock::time_point turn_end)
{
    if (filter_ == nullptr) {
        kept_.add(piece);
        return piece.size();
    }
    std::size_t taken = 0;
    while (taken < piece.size()) {
        const auto newline = piece.find('\n', taken);
        const std::size_t end = newline == std::string_view::npos ? piece.size() : newline + 1;
        line_ += piece.substr(taken, end - taken);
        taken = end;
        if (newline != std::string_view::npos || line_.size() >= longest_line) {
            finish_line();
            if (BootClock::now() >= turn_end) {
                break;
            }
        }
    }
    return taken;
}

void JobReader::finish_line()
{
    if (!line_.empty()) {
        add_line(std::exchange(line_, {}));
        judged_ = 0;
    }
}

void JobReader::take_match()
{
    if (line_.size() == judged_) {
        return;
    }
    if (judge(line_) == Verdict::match) {
        finish_line();
    } else {
        judged_ = line_.size();
    }
}

void JobReader::leave_line()
{
    at_ -= line_.size();
    line_.clear();
    judged_ = 0;
}

void JobReader::add_line(std::string_view line)
{
    const Verdict verdict = judge(line);
    if (verdict == Verdict::none) {
        ++filtered_lines_;
        filtered_bytes_ += line.size();
        return;
    }
    unjudged_lines_ += verdict == Verdict::too_long ? 1 : 0;
    kept_.add(line); // rather shown than lost where nobody can tell
}

JobReader::Verdict JobReader::judge(std::string_view line) const
{
    search::SearchLimits limits(std::stop_token(), 0);
    search::ScanMeter meter(limits);
    meter.begin_block();
    const std::string_view text = line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
    const std::string_view shown = last_state(text);
    if (filter_->find(text, 0, meter) ||
        (shown.size() < text.size() && filter_->find(shown, 0, meter))) {
        return Verdict::match;
    }
    return meter.exhausted() ? Verdict::too_long : Verdict::none;
}

protocol::JobStream JobReader::result(const OutputStream& stream) const
{
    protocol::JobStream out;
    out.text = stream.result(); // for its file
    kept_.put_into(out.text);
    out.begin = begin_;
    out.end = at_;
    out.dropped = dropped_;
    out.filtered_lines = filtered_lines_;
    out.filtered_bytes = filtered_bytes_;
    out.written = stream.total_bytes();
    out.spill_begin = stream.spill_begin();
    return out;
}

std::uint64_t readable_end(const OutputStream& stream, std::uint64_t at,
                           std::optional<BootClock::time_point>* again)
{
    const std::uint64_t total = stream.total_bytes();
    const std::uint64_t lines = stream.lines_end();
    const std::uint64_t readable = std::max(stream.characters_end(), std::min(at, total));
    if (stream.fd() < 0 || lines == total || total - std::max(lines, at) >= longest_line) {
        return readable;
    }
    const auto prompt =
        std::min(stream.last_data() + prompt_time, stream.unfinished_since() + longest_hold);
    if (BootClock::now() >= prompt) {
        return readable;
    }
    if (again != nullptr && total > at) {
        *again = *again ? std::min(**again, prompt) : prompt;
    }
    return lines;
}

} // namespace berth::guest

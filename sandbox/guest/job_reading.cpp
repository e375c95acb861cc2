#include "sandbox/guest/job_reading.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace berth::guest {
namespace {

/// Then the next of those who share the threads has its turn.
constexpr std::chrono::milliseconds judging_turn{50};

std::shared_ptr<const search::Matcher> make_filter(const std::string& pattern)
{
    if (pattern.empty()) {
        return nullptr;
    }
    try {
        return std::make_shared<search::Matcher>(pattern, search::MatcherOptions{.small = true});
    } catch (const Error& error) {
        throw Error(error.code(), std::string("filter: ") + error.what(),
                    "The syntax is RE2's: escape ( ) [ ] { } . * + ? ^ $ | \\ with a backslash "
                    "where they are meant literally. Lower numbers in {n,m} make it smaller.");
    }
}

JobReader make_reader(std::uint64_t begin, const protocol::JobOutputRequest& request,
                      const std::shared_ptr<const search::Matcher>& filter)
{
    return filter ? JobReader(begin, LineFilter(filter, request.control_characters,
                                                request.head_limit, request.tail_limit))
                  : JobReader(begin, request.head_limit, request.tail_limit);
}

/// Of one stream. A line that is unfinished, or that the filter did not get through, is left to
/// the next call.
protocol::JobStream settled(JobReader& reader, bool filtered, const OutputStream& stream,
                            std::uint64_t end)
{
    const std::uint64_t unjudged = end - std::min(end, reader.at());
    if (filtered) {
        reader.settle(stream.fd() >= 0 || unjudged > 0);
    }
    auto result = reader.result(stream);
    result.unjudged = unjudged > 0 ? end - reader.at() : 0;
    return result;
}

} // namespace

JobReading::JobReading(const protocol::JobOutputRequest& request, const JobCursor& cursor)
    : has_filter_(!request.filter.empty()), out_(0, 0, 0), err_(0, 0, 0)
{
    const auto filter = make_filter(request.filter);
    out_ = make_reader(cursor.out, request, filter);
    err_ = make_reader(cursor.err, request, filter);
}

JobReading::State JobReading::read_on(const OutputStream& out, const OutputStream& err,
                                      const JobCursor& end)
{
    if (error_) {
        std::rethrow_exception(error_);
    }
    if (!has_filter_) {
        const bool out_read = out_.read_on(out, end.out);
        const bool err_read = err_.read_on(err, end.err);
        return out_read && err_read ? State::through : State::more;
    }
    out_fetched_ = out_.fetch(out, end.out);
    err_fetched_ = err_.fetch(err, end.err);
    return out_fetched_ || err_fetched_ ? State::fetched : State::through;
}

void JobReading::judge() noexcept
{
    const auto turn_end = BootClock::now() + judging_turn;
    const auto leave = [&] { return stop_.stop_requested() || BootClock::now() >= turn_end; };
    try {
        if (std::exchange(out_fetched_, false)) {
            out_.judge(leave);
        }
        if (std::exchange(err_fetched_, false) && !stop_.stop_requested()) {
            err_.judge(leave);
        }
    } catch (...) {
        error_ = std::current_exception();
    }
}

void JobReading::put_into(protocol::JobOutputReply& reply, const OutputStream& out,
                          const OutputStream& err, const JobCursor& end)
{
    reply.out = settled(out_, has_filter_, out, end.out);
    reply.err = settled(err_, has_filter_, err, end.err);
    reply.cursor = at().to_text();
}

} // namespace berth::guest

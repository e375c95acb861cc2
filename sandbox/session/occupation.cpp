#include "sandbox/session/occupation.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/visible.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::session {
namespace {

/// Of the jobs, by their ids.
constexpr std::size_t most_named = 3;

std::string number_of(std::uint64_t count, const std::string& one, const std::string& many)
{
    return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

std::string jobs_in_words(const std::vector<protocol::JobEntry>& jobs)
{
    constexpr std::uint64_t second = 1000;
    const auto in_words = [](const protocol::JobEntry& job) {
        return visible(job.job_id) +
               (job.remaining
                    ? " for " + std::to_string(*job.remaining / second + 1) + " s more at most"
                    : "");
    };
    return number_of(jobs.size(), "job", "jobs") + " (" + joined_first(jobs, most_named, in_words) +
           ')';
}

} // namespace

std::string occupation(const protocol::InfoReply& info)
{
    std::vector<std::string> parts;
    if (info.calls > 0) {
        parts.push_back(number_of(info.calls, "command in flight", "commands in flight"));
    }
    if (!info.jobs.empty()) {
        parts.push_back(jobs_in_words(info.jobs));
    }
    if (info.pause && info.pause->clients > 0) {
        // A server has one that says that it is there, and one for each call at a time.
        parts.push_back(info.pause->clients == 1 ? "1 connection of a server"
                                                 : std::to_string(info.pause->clients) +
                                                       " connections of one server or more");
    }
    return parts.empty() ? "its guest does not say by what" : joined(parts);
}

} // namespace berth::session

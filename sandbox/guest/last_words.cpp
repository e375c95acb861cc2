#include "sandbox/guest/last_words.hpp"

#include "sandbox/protocol/parting.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace berth::guest {
namespace {

/// Of both lists together. Of those that run one that is not named is counted as one that has
/// ended.
constexpr std::size_t most_named = 16;
/// Of a command, in bytes; what is shown of one is less.
constexpr std::size_t longest_command = 512;

static_assert(most_named * (longest_command + 256) < protocol::longest_last_words);

/// Those that nobody was told the end of: with the machine nobody can ask any more. Also what
/// somebody is about to tell, who may not come to it: told twice rather than never.
void keep_owed(std::vector<protocol::JobEntry>& jobs)
{
    std::erase_if(jobs, [](const protocol::JobEntry& job) {
        return !job.unseen && !job.expected && !job.lent;
    });
    for (auto& job : jobs) {
        job.command.resize(std::min(job.command.size(), longest_command));
    }
}

std::size_t drop_before(std::vector<protocol::JobEntry>& jobs, std::uint64_t order)
{
    return std::erase_if(jobs, [&](const protocol::JobEntry& job) { return job.order < order; });
}

} // namespace

std::string last_words(std::vector<protocol::JobEntry> jobs, std::vector<protocol::JobEntry> ended,
                       std::uint32_t forgotten)
{
    keep_owed(jobs);
    keep_owed(ended);
    if (jobs.empty() && ended.empty() && forgotten == 0) {
        return {};
    }
    std::vector<std::uint64_t> orders;
    for (const auto* list : {&jobs, &ended}) {
        for (const auto& job : *list) {
            orders.push_back(job.order);
        }
    }
    if (orders.size() > most_named) {
        std::ranges::sort(orders);
        const auto first = orders[orders.size() - most_named];
        forgotten +=
            static_cast<std::uint32_t>(drop_before(jobs, first) + drop_before(ended, first));
    }
    protocol::InfoReply reply;
    reply.jobs = std::move(jobs);
    reply.ended = std::move(ended);
    reply.forgotten_unseen = forgotten;
    return protocol::encode(reply);
}

} // namespace berth::guest

#include "sandbox/session/unseen_outcomes.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/session/printed_end.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace berth::session {
namespace {

constexpr std::size_t told = 3;
/// Of a command, in bytes.
constexpr std::size_t shown = 80;
/// Of each stream, in bytes.
constexpr std::uint64_t last_output = 1500;

// These are a format: notices stand in the books (Record::untold), where a later release finds them
// of earlier ones, and tells by these words of which outcomes they are, and of how many. One that
// is put otherwise is to be found in its old form too.

// Before how it ended.
constexpr std::string_view left_to_run = "), which was left to run, nobody has been told the end: ";
constexpr std::string_view not_read = ") printed has not been read: ";
constexpr std::string_view reached_nobody =
    ") reached nobody, since its server or its client went away or gave it up: ";
// Of those that are not told one by one.
constexpr std::string_view nor_the_results_of = "nor did the results of ";
constexpr std::string_view the_results_of = "the results of ";
constexpr std::string_view more_unread = "what "; // and how many
constexpr std::string_view on_earlier_machines =
    "of commands on earlier machines more was to be told than the books keep; left out: ";

constexpr const char* gone_with_it = "; what it printed is gone with the sandbox";
constexpr const char* others_stopped = ", which ran and ended with the sandbox";
constexpr const char* all_gone = "; what they printed is gone with the sandbox";

std::string shown_command(std::string_view command)
{
    const std::size_t line = std::min(command.find('\n'), command.size());
    return '`' + visible_beginning(command, std::min(line, shown), "…") + '`';
}

/// What comes before how it ended.
std::string untold(const protocol::JobEntry& job)
{
    if (job.expected) {
        return ("of " + job.job_id + " (" + shown_command(job.command)).append(left_to_run);
    }
    if (!job.unseen && !job.lent) {
        return ("what " + job.job_id + " (" + shown_command(job.command)).append(not_read);
    }
    // With its id: the same command on two machines, that ended in the same way, is two outcomes.
    return ("the result of " + job.job_id + " (" + shown_command(job.command))
        .append(reached_nobody);
}

std::string end_of(const protocol::JobEntry& job)
{
    if (job.not_run) {
        return "it was not run";
    }
    if (!job.exit_code) {
        return "how it ended is not known";
    }
    return *job.exit_code < 0 ? "it was stopped"
                              : "it ended with exit " + std::to_string(*job.exit_code);
}

bool is_running(const protocol::JobEntry& job)
{
    return job.status == "running";
}

std::string notice_of(const protocol::JobEntry& job)
{
    if (is_running(job)) {
        return untold(job) + "it goes on as " + job.job_id + ", which bash_output follows";
    }
    return untold(job) + end_of(job) + ", and bash_output of " + job.job_id +
           (job.not_run ? " says why" : " has what it printed");
}

/// Each notice is shown line by line, and what is printed may look like one: then it would be
/// believed.
std::string as_printed(std::string_view text)
{
    std::string lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.append("\n| ").append(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

/// Of a job that has ended; throws Error.
std::string last_output_of(sandbox::Sandbox& sandbox, const protocol::JobEntry& job)
{
    protocol::JobOutputRequest request;
    request.job_id = job.job_id;
    request.tail_limit = last_output;
    const auto reply = sandbox.job_output(request, {});
    const auto printed = printed_end(reply.out.text) + printed_end(reply.err.text);
    if (printed.empty()) {
        return ", and printed nothing";
    }
    // A book would keep them for all who may read it. An earlier guest does not say.
    return reply.state.has_secrets.value_or(true)
               ? "; what it printed is not kept, since it may have secrets"
               : "; it printed at last:" + as_printed(printed);
}

/// Of some, in the order in which they were asked for.
struct Newest {
    std::vector<const protocol::JobEntry*> jobs; ///< a few
    std::size_t others = 0;
};

/// Whether anybody waits for a word of it that has not come: when its machine ends, nobody can ask
/// any more. Also of what a server was lent to tell: it may come to no call in which it can.
bool is_owed(const protocol::JobEntry& job)
{
    return job.unseen || job.expected || job.lent;
}

template <class Which>
Newest newest_of(const protocol::InfoReply& info, const Which& which)
{
    Newest newest;
    for (const auto* jobs : {&info.ended, &info.jobs}) {
        for (const auto& job : *jobs) {
            if (which(job)) {
                // An earlier guest tells none of their order: those stay in that of their ids.
                newest.jobs.insert(std::ranges::upper_bound(newest.jobs, job.order, {},
                                                            &protocol::JobEntry::order),
                                   &job);
            }
        }
    }
    newest.others = newest.jobs.size() - std::min(newest.jobs.size(), told);
    newest.jobs.erase(newest.jobs.begin(),
                      newest.jobs.begin() + static_cast<std::ptrdiff_t>(newest.others));
    return newest;
}

Newest newest_unseen(const protocol::InfoReply& info)
{
    return newest_of(info, [](const protocol::JobEntry& job) { return job.unseen; });
}

Newest newest_ended(const protocol::InfoReply& info)
{
    return newest_of(
        info, [](const protocol::JobEntry& job) { return is_owed(job) && !is_running(job); });
}

/// Of those whose end was told.
Newest newest_unread(const protocol::InfoReply& info)
{
    return newest_of(info, [](const protocol::JobEntry& job) {
        return job.unread && !is_owed(job) && !is_running(job);
    });
}

/// Those that are told one by one. That an end was told keeps none from being told whose was not.
std::vector<const protocol::JobEntry*> ended_of(const protocol::InfoReply& info, LastOf which)
{
    auto jobs = newest_ended(info).jobs;
    if (which == LastOf::or_unread) {
        std::ranges::copy(newest_unread(info).jobs, std::back_inserter(jobs));
    }
    return jobs;
}

std::string nor_those_of(std::size_t commands)
{
    return std::string(nor_the_results_of) + std::to_string(commands) +
           (commands == 1 ? " earlier command" : " earlier commands") + " reach anybody";
}

std::string forgotten_notice(std::size_t commands)
{
    return std::string(the_results_of) + std::to_string(commands) +
           (commands == 1 ? " command" : " commands") +
           " before those reached nobody either, and the sandbox remembers them no longer: what "
           "they did can be seen in the files alone";
}

/// Of which job a notice tells, by its id; empty: it is of no single one.
std::string_view job_in(std::string_view notice)
{
    for (const auto end : {left_to_run, not_read, reached_nobody}) {
        if (const auto found = notice.find(end); found != std::string_view::npos) {
            return notice.substr(0, found + end.size());
        }
    }
    return {};
}

/// Of which outcome a notice tells, whatever it says of what became of that.
std::string_view subject_of(std::string_view notice)
{
    for (const auto beginning : {nor_the_results_of, the_results_of}) {
        if (notice.starts_with(beginning)) {
            return nor_the_results_of;
        }
    }
    if (notice.starts_with(on_earlier_machines)) {
        return on_earlier_machines;
    }
    const auto job = job_in(notice);
    return job.empty() ? notice : job;
}

/// Of how many outcomes it tells.
std::size_t outcomes_in(std::string_view notice)
{
    for (const auto beginning :
         {nor_the_results_of, the_results_of, on_earlier_machines, more_unread}) {
        std::size_t count = 0;
        const auto number = notice.substr(std::min(beginning.size(), notice.size()));
        if (notice.starts_with(beginning) &&
            std::from_chars(number.data(), number.data() + number.size(), count).ec ==
                std::errc()) {
            return count;
        }
    }
    return 1;
}

} // namespace

std::string notice_of_earlier(std::span<const std::string> notices)
{
    std::size_t count = 0;
    for (const auto& notice : notices) {
        count += outcomes_in(notice);
    }
    return std::string(on_earlier_machines) + std::to_string(count);
}

std::vector<std::string> unseen_notices(const protocol::InfoReply& info)
{
    const auto newest = newest_unseen(info);
    std::vector<std::string> notices;
    notices.reserve(newest.jobs.size() + 1);
    for (const auto* job : newest.jobs) {
        notices.push_back(notice_of(*job));
    }
    if (newest.others > 0) {
        notices.push_back(nor_those_of(newest.others) + ": session_info lists them among the jobs");
    }
    if (info.forgotten_unseen > 0) {
        notices.push_back(forgotten_notice(info.forgotten_unseen));
    }
    return notices;
}

Told claim_unseen(sandbox::Sandbox& sandbox, const sandbox::CallToCome* next)
{
    protocol::InfoRequest request;
    request.claim_unseen = true;
    request.acknowledge = true;
    auto receipt = std::make_shared<sandbox::Receipt>();
    Told unseen{.notices = unseen_notices(sandbox.info({}, request, receipt.get(), next))};
    if (*receipt) {
        unseen.receipts.push_back(std::move(receipt));
    }
    return unseen;
}

Told claim_doubtful(sandbox::Sandbox& sandbox) noexcept
{
    try {
        return claim_unseen(sandbox);
    } catch (const std::exception&) {
        return {};
    }
}

LastNotices last_notices(const protocol::InfoReply& info, LastOf which)
{
    const auto newest = newest_ended(info);
    LastNotices notices;
    for (const auto* job : ended_of(info, which)) {
        notices.told.push_back(untold(*job) + end_of(*job));
    }
    const std::size_t forgotten = std::size_t{info.forgotten_unseen} + info.forgotten_expected +
                                  info.forgotten_lent; // of all nobody can ask now
    if (const auto others = newest.others + forgotten; others > 0) {
        notices.untold = nor_those_of(others) + all_gone;
    }
    const auto unread = which == LastOf::or_unread ? newest_unread(info).others : 0;
    if (unread > 0) {
        notices.untold += (notices.untold.empty() ? "" : "; ") + std::string(more_unread) +
                          std::to_string(unread) +
                          " more of those printed was not read, and is gone";
    }
    return notices;
}

std::vector<std::string> stopped_notices(const protocol::InfoReply& info)
{
    std::vector<std::string> notices;
    for (const auto* job : newest_of(info, is_owed).jobs) {
        if (is_running(*job)) {
            notices.push_back(untold(*job) + "it ran, and was ended with the sandbox" +
                              gone_with_it);
        }
    }
    // Of either list: a guest that is not ours any more may say of one that has ended that it runs.
    std::size_t running = 0;
    for (const auto* list : {&info.jobs, &info.ended}) {
        running += static_cast<std::size_t>(std::ranges::count_if(
            *list, [](const protocol::JobEntry& job) { return is_owed(job) && is_running(job); }));
    }
    if (const auto others = running - std::min(running, notices.size()); others > 0) {
        notices.push_back(nor_those_of(others) + others_stopped);
    }
    return notices;
}

void add_what_was_printed(LastNotices& last, const protocol::InfoReply& info,
                          sandbox::Sandbox& sandbox, LastOf which) noexcept
{
    try {
        auto notice = last.told.begin();
        const auto told_of = ended_of(info, which);
        for (const auto* job : told_of) {
            *notice++ += last_output_of(sandbox, *job);
        }
        for (const auto& job : info.ended) { // the others: a guest does not end before
            if (which == LastOf::or_unread && job.unread &&
                std::ranges::find(told_of, &job) == told_of.end()) {
                (void)last_output_of(sandbox, job);
            }
        }
    } catch (const std::exception&) {
        return; // a guest that is stuck is not waited for again and again
    }
}

std::vector<std::string> notices_of_words(std::string_view words)
{
    if (words.empty()) {
        return {};
    }
    try {
        const auto info = protocol::decode<protocol::InfoReply>(words);
        auto notices = parting_notices(info);
        std::ranges::move(stopped_notices(info), std::back_inserter(notices));
        return notices;
    } catch (const protocol::WireError&) {
        return {}; // of a guest that is none of ours
    }
}

std::vector<std::string> parting_notices(const protocol::InfoReply& info)
{
    auto last = last_notices(info);
    for (auto& notice : last.told) {
        notice += gone_with_it;
    }
    if (!last.untold.empty()) {
        last.told.push_back(std::move(last.untold));
    }
    return std::move(last.told);
}

void drop_of_same_jobs(std::vector<std::string>& notices, const std::vector<std::string>& later)
{
    std::erase_if(notices, [&](const std::string& notice) {
        const auto job = job_in(notice);
        return !job.empty() && std::ranges::any_of(later, [&](const std::string& each) {
            return job_in(each) == job;
        });
    });
}

void drop_told_again(std::vector<std::string>& notices, std::size_t since,
                     const std::vector<std::string>& later)
{
    const auto is_told_again = [&](const std::string& notice) {
        return std::ranges::any_of(
            later, [&](const std::string& each) { return subject_of(each) == subject_of(notice); });
    };
    const auto first = notices.begin() + static_cast<std::ptrdiff_t>(since);
    notices.erase(std::remove_if(first, notices.end(), is_told_again), notices.end());
}

} // namespace berth::session

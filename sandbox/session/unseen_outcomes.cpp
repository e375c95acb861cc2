#include "sandbox/session/unseen_outcomes.hpp"

#include "sandbox/base/visible.hpp"
#include "sandbox/session/printed_end.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::session {
namespace {

constexpr std::size_t told = 3;
/// Of a command, in bytes.
constexpr std::size_t shown = 80;
/// Of each stream, in bytes.
constexpr std::uint64_t last_output = 1500;

constexpr const char* gone_with_it = "; what it printed is gone with the sandbox";
constexpr const char* all_gone = "; what they printed is gone with the sandbox";

std::string shown_command(std::string_view command)
{
    const std::size_t line = std::min(command.find('\n'), command.size());
    return '`' + visible_beginning(command, std::min(line, shown), "…") + '`';
}

std::string reached_nobody(const protocol::JobEntry& job)
{
    return "the result of " + shown_command(job.command) +
           " reached nobody, since its server or its client went away: ";
}

std::string end_of(const protocol::JobEntry& job)
{
    if (!job.exit_code) {
        return "how it ended is not known";
    }
    return *job.exit_code < 0 ? "it was stopped"
                              : "it ended with exit " + std::to_string(*job.exit_code);
}

std::string notice_of(const protocol::JobEntry& job)
{
    if (job.status == "running") {
        return reached_nobody(job) + "it goes on as " + job.job_id + ", which bash_output follows";
    }
    return reached_nobody(job) + end_of(job) + ", and bash_output of " + job.job_id +
           " has what it printed";
}

std::string last_notice_of(sandbox::Sandbox& sandbox, const protocol::JobEntry& job)
{
    protocol::JobOutputRequest request;
    request.job_id = job.job_id;
    request.tail_limit = last_output;
    const auto reply = sandbox.job_output(request, {});
    auto printed = printed_end(reply.out.text) + printed_end(reply.err.text);
    if (printed.ends_with('\n')) {
        printed.pop_back();
    }
    return reached_nobody(job) + end_of(job) +
           (printed.empty() ? ", and printed nothing" : "; it printed at last:\n" + printed);
}

/// Oldest first.
std::vector<const protocol::JobEntry*> unseen_in(const protocol::InfoReply& info)
{
    std::vector<const protocol::JobEntry*> unseen;
    for (const auto* jobs : {&info.ended, &info.jobs}) {
        for (const auto& job : *jobs) {
            if (job.unseen) {
                unseen.push_back(&job);
            }
        }
    }
    return unseen;
}

std::vector<const protocol::JobEntry*> unseen_ended_in(const protocol::InfoReply& info)
{
    auto unseen = unseen_in(info);
    std::erase_if(unseen, [](const auto* job) { return job->status == "running"; });
    return unseen;
}

std::string nor_those_of(std::size_t commands)
{
    return "nor did those of " + std::to_string(commands) +
           (commands == 1 ? " earlier command" : " earlier commands") + " reach anybody";
}

} // namespace

std::vector<std::string> unseen_notices(const protocol::InfoReply& info)
{
    const auto unseen = unseen_in(info);
    std::vector<std::string> notices;
    const std::size_t untold = unseen.size() > told ? unseen.size() - told : 0;
    for (std::size_t i = untold; i < unseen.size(); ++i) {
        notices.push_back(notice_of(*unseen[i]));
    }
    if (untold > 0) {
        notices.push_back(nor_those_of(untold) + ": session_info lists them among the jobs");
    }
    return notices;
}

LastNotices last_notices(sandbox::Sandbox& sandbox)
{
    const auto info = sandbox.info();
    const auto unseen = unseen_ended_in(info);
    LastNotices notices;
    const std::size_t untold = unseen.size() > told ? unseen.size() - told : 0;
    for (std::size_t i = untold; i < unseen.size(); ++i) {
        notices.told.push_back(last_notice_of(sandbox, *unseen[i]));
    }
    if (untold > 0) {
        notices.untold = nor_those_of(untold) + all_gone;
    }
    return notices;
}

std::vector<std::string> parting_notices(const protocol::InfoReply& info)
{
    const auto unseen = unseen_ended_in(info);
    std::vector<std::string> notices;
    const std::size_t untold = unseen.size() > told ? unseen.size() - told : 0;
    for (std::size_t i = untold; i < unseen.size(); ++i) {
        notices.push_back(reached_nobody(*unseen[i]) + end_of(*unseen[i]) + gone_with_it);
    }
    if (untold > 0) {
        notices.push_back(nor_those_of(untold) + all_gone);
    }
    return notices;
}

} // namespace berth::session

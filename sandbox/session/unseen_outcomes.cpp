#include "sandbox/session/unseen_outcomes.hpp"

#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace berth::session {
namespace {

constexpr std::size_t told = 3;
/// Of a command, in bytes.
constexpr std::size_t shown = 80;

std::string shown_command(std::string_view command)
{
    const std::size_t line = std::min(command.find('\n'), command.size());
    return '`' + visible_beginning(command, std::min(line, shown), "…") + '`';
}

std::string notice_of(const protocol::JobEntry& job)
{
    std::string text = "the result of " + shown_command(job.command) +
                       " reached nobody, since its server or its client went away: ";
    if (job.status == "running") {
        return text + "it goes on as " + job.job_id + ", which bash_output follows";
    }
    if (!job.exit_code) {
        text += "how it ended is not known";
    } else if (*job.exit_code < 0) {
        text += "it was stopped";
    } else {
        text += "it ended with exit " + std::to_string(*job.exit_code);
    }
    return text + ", and bash_output of " + job.job_id + " has what it printed";
}

} // namespace

std::vector<std::string> unseen_notices(const protocol::InfoReply& info)
{
    std::vector<const protocol::JobEntry*> unseen;
    for (const auto* jobs : {&info.ended, &info.jobs}) {
        for (const auto& job : *jobs) {
            if (job.unseen) {
                unseen.push_back(&job);
            }
        }
    }
    std::vector<std::string> notices;
    const std::size_t untold = unseen.size() > told ? unseen.size() - told : 0;
    for (std::size_t i = untold; i < unseen.size(); ++i) {
        notices.push_back(notice_of(*unseen[i]));
    }
    if (untold > 0) {
        notices.push_back("nor did those of " + std::to_string(untold) +
                          (untold == 1 ? " earlier command" : " earlier commands") +
                          " reach anybody: session_info lists them among the jobs");
    }
    return notices;
}

} // namespace berth::session

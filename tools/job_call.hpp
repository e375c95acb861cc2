#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/sandbox_call.hpp"

#include <string>

namespace berth::tools {

/// Throws Error(not_found).
[[noreturn]] inline void throw_no_sandbox(const std::string& job_id)
{
    throw Error(ErrorCode::not_found,
                "there is no job " + visible_beginning(job_id, 60) +
                    ": this session has no sandbox",
                "Jobs end with the sandbox they run in. bash_exec with background starts one.");
}

/// As with_sandbox(), for what is asked about a job: none is made for it.
template <class Call>
auto with_job(Context& context, const std::string& job_id, Call call)
{
    const auto require_machine = [&] {
        if (context.sessions.facts(context.session).state != "running") {
            throw_no_sandbox(job_id);
        }
    };
    // Who follows a job asks often, and the call itself finds out what has become of a machine.
    if (!context.sessions.uses(context.session)) {
        require_machine();
    }
    return with_sandbox(context, call, require_machine);
}

} // namespace berth::tools

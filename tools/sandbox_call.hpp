#pragma once

#include "sandbox/base/error.hpp"
#include "tools/host_paths.hpp"
#include "tools/tool.hpp"

#include <cstddef>
#include <utility>

namespace berth::tools {

/// The session's sandbox; what its agent must be told is in `context.told` then.
[[nodiscard]] session::Lease lease_sandbox(Context& context);

/// The same, in place of one that ended before its call began; `since`: of the notices in
/// `context.told`, the first that came with that one. What both tell is told once.
[[nodiscard]] session::Lease lease_another(Context& context, std::size_t since);

/// Throws Error(session_lost) with what to do next, in place of what `cause` says.
[[noreturn]] void report_lost(Context& context, const session::Lease& lease, const Error& cause);

/// Throws Error(sandbox_unavailable) in place of what `cause` says: the fresh one is gone as well.
/// Where it is only out of reach, what `cause` says is right.
[[noreturn]] void refuse_unsent(Context& context, const session::Lease& lease,
                                const sandbox::Unsent& cause);

/// Runs `call(sandbox::Sandbox&)` on the session's sandbox, which is made if need be. What the
/// agent must be told goes to `context.told`. Nothing that may have begun is retried: a command
/// that ran half way must not run twice, and only the agent knows whether that would do harm. So
/// `call` makes one request; where that did not reach the guest, since somebody had ended the
/// machine, it is made once more, on a fresh one. `before_another`: called before that is made;
/// what it throws is the call's answer.
template <class Call, class Check>
auto with_sandbox(Context& context, Call call, Check before_another)
{
    const auto told_before = context.told.notices.size();
    auto lease = lease_sandbox(context);
    const auto made = [&] {
        auto answer = call(*lease.sandbox);
        if (!context.stop.stop_requested()) { // else nobody reads this result
            context.told.add(session::SessionManager::unseen_since(lease));
        }
        return answer;
    };
    try {
        try {
            return made();
        } catch (const sandbox::Unsent& error) {
            if (!error.is_of_gone()) {
                throw;
            }
            context.sessions.report_lost(context.session, lease);
            before_another();
            lease = lease_another(context, told_before);
            return made();
        }
    } catch (const sandbox::Unsent& error) {
        refuse_unsent(context, lease, error);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::session_lost) {
            report_lost(context, lease, error);
        }
        if (error.code() == ErrorCode::backend_error) {
            context.sessions.report_doubt(context.session, lease);
        }
        throw Error(in_paths_of_sandbox(context, error));
    }
}

template <class Call>
auto with_sandbox(Context& context, Call call)
{
    return with_sandbox(context, std::move(call), [] {});
}

/// Throws Error(authentication_required) for a caller without a principal.
void require_principal(const Context& context);

} // namespace berth::tools

#pragma once

#include "sandbox/base/error.hpp"
#include "tools/tool.hpp"

#include <iterator>
#include <utility>

namespace berth::tools {

/// Throws Error(session_lost) with what to do next, in place of what `cause` says.
[[noreturn]] void report_lost(Context& context, const session::Lease& lease, const Error& cause);

/// Runs `call(sandbox::Sandbox&)` on the session's sandbox, which is made if need be. What the
/// agent must be told goes to `context.notices`. Nothing is retried: a command that ran half way
/// must not run twice, and only the agent knows whether that would do harm.
template <class Call>
auto with_sandbox(Context& context, Call call)
{
    auto lease = context.sessions.acquire(context.session);
    context.notices.insert(context.notices.end(), std::make_move_iterator(lease.notices.begin()),
                           std::make_move_iterator(lease.notices.end()));
    try {
        return call(*lease.sandbox);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::session_lost) {
            report_lost(context, lease, error);
        }
        throw;
    }
}

/// Throws Error(authentication_required) for a caller without a principal.
void require_principal(const Context& context);

} // namespace berth::tools

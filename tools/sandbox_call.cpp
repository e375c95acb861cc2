#include "tools/sandbox_call.hpp"

#include "sandbox/base/visible.hpp"
#include "sandbox/session/lifecycle.hpp"
#include "sandbox/session/unseen_outcomes.hpp"

#include <string>
#include <utility>

namespace berth::tools {
namespace {

/// In that one, of the one that ended for the reason `why`; empty: nobody knows.
std::string what_is_left(const std::string& why, bool keeps_home)
{
    if (session::is_with_home(why)) {
        return ", without the files of this one.";
    }
    return keeps_home ? ": its processes and what was outside the home are gone, so look before "
                        "you go on."
                      : ", and says whether the files of this one are still there: look before "
                        "you go on.";
}

} // namespace

session::Lease lease_sandbox(Context& context)
{
    auto lease =
        context.sessions.acquire(context.session, {.time = context.time, .stop = context.stop});
    context.told.add(std::exchange(static_cast<session::Told&>(lease), {}));
    return lease;
}

session::Lease lease_another(Context& context, std::size_t since)
{
    auto lease =
        context.sessions.acquire(context.session, {.time = context.time, .stop = context.stop});
    session::drop_told_again(context.told.notices, since, lease.notices);
    context.told.add(std::exchange(static_cast<session::Told&>(lease), {}));
    return lease;
}

void report_lost(Context& context, const session::Lease& lease, const Error& cause)
{
    context.sessions.report_lost(context.session, lease);
    const auto ended = context.sessions.why_ended(context.session, lease);
    throw Error(ErrorCode::session_lost,
                (ended.empty() ? std::string("the sandbox was lost during this call: ")
                               : "the sandbox has ended during this call (" + ended + "): ") +
                    cause.what(),
                "What the call did before is not known. The next call gets a fresh sandbox" +
                    what_is_left(ended, context.sessions.backend().is_bound_to_host()));
}

void refuse_unsent(Context& context, const session::Lease& lease, const sandbox::Unsent& cause)
{
    if (!cause.is_of_gone()) {
        throw Error(static_cast<const Error&>(cause));
    }
    context.sessions.report_lost(context.session, lease);
    const auto& name = context.session.session;
    throw Error(
        Error(ErrorCode::sandbox_unavailable,
              std::string("the sandbox ended as soon as it was there: ") + cause.what(),
              "Nothing of this call was done. Somebody ends this session's sandboxes, or the "
              "host does: try again, and tell the operator if that does not help" +
                  (name.empty() ? "."
                                : ": `berth sessions kill " + visible(name) +
                                      "` ends it as it is and keeps its home, and the next "
                                      "call makes another."))
            .set_retryable(true));
}

void require_principal(const Context& context)
{
    if (context.anonymous || context.session.principal.empty()) {
        throw Error(ErrorCode::authentication_required,
                    "the workspace belongs to a principal, and this server was started with none",
                    "The operator starts the server with a --principal that is not empty.");
    }
}

} // namespace berth::tools

#include "tools/sandbox_call.hpp"

namespace berth::tools {

void report_lost(Context& context, const session::Lease& lease, const Error& cause)
{
    context.sessions.report_lost(context.session, lease);
    throw Error(ErrorCode::session_lost,
                std::string("the sandbox was lost during this call: ") + cause.what(),
                "What the call did before is not known. The next call gets a fresh sandbox: its "
                "processes and what was outside the home are gone, so look before you go on.");
}

void require_principal(const Context& context)
{
    if (context.anonymous || context.session.principal.empty()) {
        throw Error(ErrorCode::authentication_required,
                    "the workspace belongs to a principal, and this caller is anonymous",
                    "The operator gives the caller a token, or starts the server with "
                    "--principal.");
    }
}

} // namespace berth::tools

#include "sandbox/guest/acknowledgements.hpp"

#include <utility>

namespace berth::guest {

bool claim_unseen(const std::shared_ptr<Call>& call, Commands& commands, bool acknowledges)
{
    if (!acknowledges) {
        commands.seen_all();
        return false;
    }
    const auto claim = commands.lend_unseen();
    if (claim == 0) {
        return false;
    }
    const auto give_back = [&commands, claim] { commands.settle_claim(claim, /*told=*/false); };
    call->on_cancel(give_back);
    call->on_gone(give_back);
    call->on_acknowledged([&commands, claim, server = call->server()] {
        commands.settle_claim(claim, /*told=*/true, server);
    });
    return true;
}

bool show_ends(const std::shared_ptr<Call>& call, Commands& commands)
{
    auto ids = commands.untold_ends();
    if (ids.empty()) {
        return false;
    }
    call->on_gone([] {}); // as if it had not been asked, nor behind a cancel
    call->on_cancel([of = call.get()] { of->on_acknowledged(nullptr); });
    call->on_acknowledged([&commands, ids = std::move(ids)] { commands.shown(ids); });
    return true;
}

void end_read_with(const std::weak_ptr<Call>& weak, Commands& commands, const std::string& job_id)
{
    const auto call = weak.lock();
    if (!call) {
        return;
    }
    call->on_gone([] {}); // as if it had not been asked, nor behind a cancel
    call->on_cancel([of = call.get()] { of->on_acknowledged(nullptr); });
    call->on_acknowledged([&commands, job_id] { commands.read_end(job_id); });
    call->on_repeated([weak, &commands, job_id] { end_read_with(weak, commands, job_id); });
}

} // namespace berth::guest

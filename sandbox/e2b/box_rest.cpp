#include "sandbox/e2b/box_rest.hpp"

#include "sandbox/e2b/guest_install.hpp"
#include "sandbox/e2b/running_box.hpp"

namespace berth::e2b {

void put_to_rest(const std::shared_ptr<Link>& link, const BoxHome& home, const BoxInfo& box,
                 std::chrono::seconds time, const ApiClient::Right& may)
{
    const auto deadline = Deadline::after(time);
    if (box.state != BoxState::running) {
        return;
    }
    const RunningBox running(link, box.box, RunningBox::margin, {});
    const auto envd = running.if_awake();
    if (home.number.empty() && !has_proof(*envd, home.proof, deadline)) {
        throw no_longer_ours(home);
    }
    sandbox::require(may); // what runs there may be another's since it was looked for
    static_cast<void>(is_ended(*envd, deadline, may)); // else it stops with the pause
    try {
        static_cast<void>(link->api.pause(home.id, deadline, {}, may));
    } catch (const StatusError& error) {
        if (error.code() != ErrorCode::session_lost) { // else somebody else has ended it just now
            throw;
        }
    }
}

} // namespace berth::e2b

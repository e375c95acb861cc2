#include "sandbox/local/move_home.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/local/session_folder.hpp"

#include <system_error>

namespace berth::local {

void move_home(const std::string& state, const std::string& from, const std::string& to,
               const UidRange* uids)
{
    try {
        const SessionFolder source(state, from);
        const SessionFolder target(state, to);
        if (uids != nullptr) {
            uids->hand_over(from, to, [&] { target.take_home(source); });
        } else {
            target.take_home(source);
        }
    } catch (const std::system_error& error) {
        if (!SessionFolder::find_home(state, to).empty()) {
            throw Error(ErrorCode::backend_error,
                        std::string("the home was given to the other session, and then: ") +
                            error.what(),
                        "It is that one's, and its next call goes on from there. Where the state "
                        "directory has no room, make some first.");
        }
        throw Error(ErrorCode::backend_error,
                    std::string("the home cannot be given to another session: ") + error.what(),
                    "It is where it was. Look at the state directory, then try again.");
    }
}

} // namespace berth::local

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::session {

/// The states of a session, as its record has them. That a running one is paused is not among them:
/// the guest decides and tells it (docs/adr/0014-pause.md).
enum class State : unsigned char {
    absent,   ///< no record
    creating, ///< a server makes the machine, or died while it did
    running,
    ended, ///< no machine; the home is kept
    lost,  ///< the backend no longer has the machine, and nobody ended it
};

enum class Event : unsigned char {
    create,    ///< a call needs a machine
    created,   ///< its guest answered
    gone,      ///< the backend does not have it any more
    restarted, ///< the same, and so has the host been since
    expired,   ///< the same, after longer than the time to live without use
    left,      ///< the same, of one that ends when its last client leaves
    retired,   ///< nobody used it, and a server needs one that is made otherwise
    outgrown,  ///< the same, and a server cannot speak to its guest, which is older
    end,       ///< somebody ended it
    purge,     ///< somebody ended it with its home
    adopt,     ///< it was given a machine that lives on
};

struct Transition {
    State to = State::absent;
    /// For people: completes "the session is <state>: ...". It stands in the books, and some are
    /// told by it (of a restart of the host, of a creation that came to nothing): one that is put
    /// otherwise is not known in the records of other releases.
    std::string_view why;
};

/// The lifecycle, without a backend or a clock: what follows, or nothing where the event cannot
/// happen in that state. A creation that fails is no event: it is rolled back to the state before
/// it, so that what the agent must be told is not forgotten. Nor is it one that a record comes to
/// be anew, in the state that it is found to be in: of a home that no record knew
/// (machine_collection.cpp) or that another session had (machine_adoption.cpp), of machines that
/// may still come of a session that is gone (late_machines.cpp), and in the place of one that a
/// power loss emptied (file_registry.cpp) or that is damaged (session_end.cpp).
[[nodiscard]] std::optional<Transition> next(State state, Event event) noexcept;

/// Of a session whose record is gone: who has taken its home over erases that as well.
inline constexpr std::string_view deleted_or_given =
    "it was deleted with its files, or its home was given to another session";

/// Whether what ended for the reason `why`, of a transition or as above, took the home too.
[[nodiscard]] bool is_with_home(std::string_view why) noexcept;

/// What the agent is told when it gets a fresh machine after one that was `before`, for the reason
/// `why` of its record; empty when nothing.
[[nodiscard]] std::string replacement_notice(State before, std::string_view why);

[[nodiscard]] std::string_view to_string(State state) noexcept;
[[nodiscard]] std::optional<State> state_from(std::string_view name) noexcept;

} // namespace berth::session

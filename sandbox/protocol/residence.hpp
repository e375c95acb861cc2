#pragma once

#include <string>

// The guest of a microVM is resident there: started once, it goes on by itself, and each call comes
// to it by a process of its own, the connector (docs/adr/0016-e2b-channel.md). Both have their
// files in one folder of root's, which the host names.

namespace berth::protocol {

namespace residence {

inline constexpr const char* config = "config";     ///< GuestConfig; gone once it was read
inline constexpr const char* socket = "guest.sock"; ///< where the guest listens
inline constexpr const char* key = "key";           ///< ConnectorKey
inline constexpr const char* parting = "parting";   ///< see parting.hpp
inline constexpr const char* reason = "reason";     ///< why none resides, of the last attempt

/// How `berth-guest outside ADDRESS...` ends where one of them answered: nothing else ends so.
inline constexpr int answered_outside = 10;

} // namespace residence

/// What the connector opens a sealed opening with.
struct ConnectorKey {
    std::string key; ///< the 32 bytes of an OpeningKey
    std::string generation;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.key);
        field(2, self.generation);
    }
};

/// How a connector ends, by its exit status. Any other is not its own.
enum class ConnectorEnd : int {
    answered = 0,      ///< a reply or an error frame has gone out whole
    failed = 1,        ///< stderr says why; what the guest has had of the call is not known
    not_opened = 3,    ///< the opening is not for this machine: the guest has had nothing
    nobody_there = 4,  ///< no guest listens: it has had nothing
    left_unread = 5,   ///< the guest closed, and has not read all that was sent
    closed = 6,        ///< the guest closed without an answer
    not_taken_off = 7, ///< whoever asked does not read the answer
};

} // namespace berth::protocol

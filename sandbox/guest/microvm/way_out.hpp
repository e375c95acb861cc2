#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::guest {

/// Where somebody may answer.
struct Place {
    std::string address; ///< of IPv4
    std::uint16_t port = 0;
};

/// The ports on which a resolver for everybody answers: of names, and of TLS.
[[nodiscard]] std::vector<Place> resolvers(const std::vector<std::string>& addresses);

/// Asks all of them at once: a name server for the root's servers, another one for TLS. Returns the
/// first that has said a byte, "1.1.1.1 answers on port 53"; empty: none within `time`, or, sooner,
/// none can. A connection alone proves nothing: firewalls take one and close it (E2B's does, to see
/// what is asked for).
[[nodiscard]] std::string who_answers(const std::vector<Place>& places,
                                      std::chrono::milliseconds time);

} // namespace berth::guest

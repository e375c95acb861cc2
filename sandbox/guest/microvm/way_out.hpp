#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::guest {

/// Where somebody may answer.
struct Place {
    /// What is said there: a question of names, or the beginning of TLS.
    enum class Kind { names, tls };

    std::string address; ///< of IPv4
    std::uint16_t port = 0;
    Kind kind = Kind::tls;
};

/// The ports on which a resolver for everybody answers: of names, and of TLS.
[[nodiscard]] std::vector<Place> resolvers(const std::vector<std::string>& addresses);

/// Where nobody is, anywhere (RFC 5737), and is asked for names all the same. Not by TLS: who
/// answers that for everybody is a proxy, and a way out.
[[nodiscard]] std::vector<Place> nobodys();

/// Asks all of them at once: a name server for the root's servers, another one for TLS. Returns the
/// first of `places` that has said a byte, "1.1.1.1 answers on port 53"; empty: none within `time`,
/// or, sooner, none can. A connection alone proves nothing: firewalls take one and close it (E2B's
/// does, to see what is asked for). Nor does an answer where one of `nobodys` gives one of that
/// kind too: the host answers all questions of names itself, whatever they were sent to.
[[nodiscard]] std::string who_answers(const std::vector<Place>& places,
                                      const std::vector<Place>& nobodys,
                                      std::chrono::milliseconds time);

} // namespace berth::guest

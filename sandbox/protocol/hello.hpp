#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

/// Raised when old and new can no longer understand each other; unknown fields need no new version.
/// Hello, info and retire stay as they are in all of them: by these a server ends a guest whose
/// version it does not speak any more.
inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::uint32_t protocol_oldest = 1;

/// What one side speaks.
struct VersionRange {
    std::uint32_t oldest = protocol_oldest;
    std::uint32_t newest = protocol_version;
};

/// The first frame of a connection, from the host.
struct Hello {
    std::uint32_t oldest = 0; ///< the range of versions the host speaks
    std::uint32_t newest = 0;
    std::string build; ///< for the logs: berth's version and commit
    std::string token; ///< the session's secret, from its 0600 file
    std::string
        generation; ///< of the machine: a guest of an older machine under the same key refuses
    /// Of a server that works here and means to stay, even if this connection carries no call:
    /// while there is one, nobody has left. Also taken for one is who begins a call that works.
    bool client = false;
    /// Names of calls whose answers were had on connections that are gone, and of those whose
    /// answers nobody wants any more. As many as there is room for.
    std::vector<std::string> seen;
    std::vector<std::string> declined;
    /// And of those that this server cannot ask for any more: whatever comes of them is nobody's
    /// until somebody is told of it.
    std::vector<std::string> given_up;
    /// Which server it is, at random, the same for all its connections to this machine. Empty: of a
    /// release that did not say.
    std::string server;
    /// In milliseconds from now: for so long the server is here, whatever becomes of its
    /// connections. 0: it leaves. Absent: it is here while it has one.
    std::optional<std::uint64_t> lease;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.oldest);
        field(2, self.newest);
        field(3, self.build);
        field(4, self.token);
        field(5, self.generation);
        field(6, self.client);
        field(8, self.seen);
        field(9, self.declined);
        field(10, self.server);
        field(11, self.lease);
        field(12, self.given_up);
    }
};

/// The answer; or an error frame, after which the guest closes.
struct HelloReply {
    std::uint32_t version = 0; ///< the one in force: the highest that both speak
    std::string build;
    std::string generation;
    std::int64_t pid = 0; ///< in the guest's own namespace
    bool repeats = false; ///< it answers a named call that is sent again, and does not run it again

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.version);
        field(2, self.build);
        field(3, self.generation);
        field(4, self.pid);
        field(6, self.repeats);
    }
};

} // namespace berth::protocol

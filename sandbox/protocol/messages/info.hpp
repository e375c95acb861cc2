#pragma once

// What a guest says of itself.

#include "sandbox/protocol/messages/execute.hpp"
#include "sandbox/protocol/messages/pause.hpp"
#include "sandbox/protocol/messages/quota.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

struct InfoRequest {
    /// The asker tells the agent of every job that is marked `unseen`: from then on none is.
    bool claim_unseen = false;
    /// And says so, once it has, with a frame `acknowledge` on the same connection. Where that ends
    /// without, they are marked again. Meanwhile nobody else is told.
    bool acknowledge = false;
    /// The asker shows its agent how all ended that are listed, and says so in the same way, if
    /// `claim_unseen` is not there: from then on somebody has been told of them.
    bool shows_ends = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.claim_unseen);
        field(2, self.acknowledge);
        field(3, self.shows_ends);
    }
};

struct JobEntry {
    std::string job_id;
    std::string command; ///< its beginning
    std::string status;  ///< "running", "ended"
    std::uint32_t processes = 0;
    std::uint64_t age = 0;                  ///< of one that has ended: when it did
    std::optional<std::uint64_t> remaining; ///< until it is stopped
    std::optional<std::int32_t> exit_code;  ///< of its shell, once that has ended
    /// A command whose call was cut off (its server was killed, its client left) before anybody had
    /// the result; nobody has asked for the job since.
    bool unseen = false;
    bool not_run = false; ///< nothing of it
    /// Its place among the session's commands as they were asked for: later ones are greater. 0: an
    /// earlier guest does not say. Of jobs that became some when their connections ended, the ids
    /// are in the order in which the kernel closed those.
    std::uint64_t order = 0;
    /// How its shell ended, once that has, as in JobState. Absent: an earlier guest does not say.
    std::optional<Fate> fate;
    std::int32_t signal = 0;
    std::string ended_by;
    /// It has ended, not long ago, and nobody has been told how. An earlier guest does not say.
    bool unread = false;
    /// Somebody knows of it (it was begun in the background, went there at its timeout, was left
    /// running, or was asked for), and it runs, or nobody has been told how it ended, however long
    /// ago. An earlier guest does not say.
    bool expected = false;
    /// It would be `unseen`, but somebody who is here has claimed that, and has not told it yet:
    /// whoever ends the machine tells it all the same. An earlier guest does not say.
    bool lent = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.job_id);
        field(2, self.command);
        field(3, self.status);
        field(4, self.processes);
        field(5, self.age);
        field(6, self.remaining);
        field(7, self.exit_code);
        field(8, self.unseen);
        field(9, self.not_run);
        field(10, self.order);
        field(11, self.fate);
        field(12, self.signal);
        field(13, self.ended_by);
        field(14, self.unread);
        field(15, self.expected);
        field(16, self.lent);
    }
};

struct InfoReply {
    std::string build;
    std::string cwd;
    std::string home;
    std::uint64_t uptime = 0;
    std::uint32_t connections = 0;
    std::uint32_t calls = 0; ///< commands in flight
    std::vector<JobEntry> jobs;
    std::vector<std::string>
        layers;                  ///< what the guest itself enforces: "seccomp", "cgroup-kill" ...
    std::vector<JobEntry> ended; ///< the last jobs that did
    std::optional<PauseState> pause; ///< absent: a guest that cannot
    std::optional<QuotaState> quota; ///< absent: no limit
    bool acknowledge = false;        ///< what was claimed is kept until the asker says that it told
    /// So many more results that reached nobody are remembered no longer. Claimed with the others.
    std::uint32_t forgotten_unseen = 0;
    /// So many more have ended as JobEntry::expected and are remembered no longer, of servers that
    /// are here: when the machine ends nobody can ask for them. An earlier guest does not say.
    std::uint32_t forgotten_expected = 0;
    /// So many more that are remembered no longer somebody who is here has claimed, as
    /// JobEntry::lent. An earlier guest does not say.
    std::uint32_t forgotten_lent = 0;
    /// What a command may have: no more than the server that made the machine was allowed, whatever
    /// was asked for. An earlier guest does not say.
    std::optional<std::uint64_t> open_files;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.build);
        field(2, self.cwd);
        field(3, self.home);
        field(4, self.uptime);
        field(5, self.connections);
        field(6, self.calls);
        field(7, self.jobs);
        field(8, self.layers);
        field(9, self.ended);
        field(10, self.pause);
        field(12, self.quota);
        field(13, self.acknowledge);
        field(14, self.forgotten_unseen);
        field(15, self.forgotten_expected);
        field(16, self.open_files);
        field(17, self.forgotten_lent);
    }
};

} // namespace berth::protocol

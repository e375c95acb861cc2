#pragma once

#include "sandbox/protocol/on_disconnect.hpp"
#include "sandbox/protocol/user_ids.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth::protocol {

/// What the guest is told at birth, on the descriptor named by `--config-fd N` (a memfd or pipe,
/// read to its end and closed). Descriptors are numbers that the guest inherited; -1 is "none".
struct GuestConfig {
    std::string token;
    std::string generation;
    std::string session; ///< for messages only
    std::string home = "/home/user";
    std::string user = "user";
    std::vector<std::string> writable_roots; ///< besides home: where writing tools may work
    std::string path_policy;                 ///< "" or "home": every tool narrowed to the home
    std::map<std::string, std::string> environment; ///< of every command, the whole of it
    std::string spill_directory;                    ///< in the sandbox; made when missing
    std::uint64_t spill_stream_limit = 0;
    std::uint64_t spill_session_limit = 0;
    std::uint32_t max_calls = 0; ///< commands at once
    std::uint32_t max_jobs = 0;
    std::uint64_t idle_end =
        0; ///< ms without connection, call and job until it ends itself; 0: never

    std::int32_t listen_fd = -1;   ///< bound and listening unix socket
    std::int32_t lifetime_fd = -1; ///< end of file on it ends the guest (unnamed sessions)
    std::int32_t ready_fd = -1;    ///< one byte 'R' once it accepts connections, then closed
    std::int32_t parting_fd = -1;  ///< a file of one byte: see protocol/parting.hpp
    /// What a filtered network denies is told here, a Denial in each message; -1: none
    std::int32_t denials_fd = -1;

    /// The cgroup v2 directory that holds one child per command, a clone without anything above it;
    /// -1: no cgroups, commands run below a subreaper each.
    std::int32_t commands_cgroup_fd = -1;
    /// v1 `tasks` files, opened for writing, that every command joins by writing "0".
    std::vector<std::int32_t> v1_tasks_fds;
    /// v1 freezer.state of the cgroup that all commands are in, open to read and write; -1: none
    std::int32_t v1_freezer_fd = -1;
    /// v1 memory.oom_control or v2 memory.events of the commands' cgroup, for oom_killed; -1:
    /// unknown
    std::int32_t oom_events_fd = -1;
    /// pids.events and cpu.stat of the same cgroup, of either version; -1: nothing counts there
    std::int32_t pids_events_fd = -1;
    std::int32_t cpu_stat_fd = -1;

    std::uint64_t limit_nofile = 0; ///< rlimits of commands; 0: as inherited
    std::uint64_t limit_nproc = 0;
    std::uint64_t limit_fsize = 0;
    /// So many processes the commands' cgroup lets live at once, where that is what limits them and
    /// not limit_nproc; 0: it does not. For the guest to know: it can read no cgroup.
    std::uint64_t limit_pids = 0;

    /// The limits of commands are in the v2 directory: one that cannot enter it must not run.
    bool limits_by_cgroup = false;

    /// No command may give a file its set-user-id or set-group-id bit: folders of the host can be
    /// written to.
    bool refuse_setid = false;

    std::vector<std::string> read_only_mounts; ///< of the user: told as that, not as out of bounds

    std::uint64_t quota = 0; ///< bytes that the home may have; 0: not limited
    /// The kernel keeps it, and statfs(2) of the home tells limit and room.
    bool quota_by_kernel = false;

    std::uint64_t idle_pause = 0; ///< ms without call and job until it pauses; 0: never
    OnDisconnect on_disconnect = OnDisconnect::idle;

    /// For a guest that is root in a machine of its own, where `user` may become root too. Nothing:
    /// commands and files are whose the guest is, and no command ever gains a privilege.
    std::optional<UserIds> run_as;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.token);
        field(2, self.generation);
        field(3, self.session);
        field(4, self.home);
        field(5, self.user);
        field(6, self.writable_roots);
        field(7, self.path_policy);
        field(8, self.environment);
        field(9, self.spill_directory);
        field(10, self.spill_stream_limit);
        field(11, self.spill_session_limit);
        field(12, self.max_calls);
        field(13, self.max_jobs);
        field(14, self.idle_end);
        field(15, self.listen_fd);
        field(16, self.lifetime_fd);
        field(17, self.ready_fd);
        field(18, self.commands_cgroup_fd);
        field(19, self.v1_tasks_fds);
        field(20, self.oom_events_fd);
        field(21, self.limit_nofile);
        field(22, self.limit_nproc);
        field(23, self.limit_fsize);
        field(24, self.limits_by_cgroup);
        field(25, self.read_only_mounts);
        field(26, self.limit_pids);
        field(27, self.refuse_setid);
        field(28, self.idle_pause);
        field(29, self.on_disconnect);
        field(30, self.v1_freezer_fd);
        field(31, self.quota);
        field(32, self.quota_by_kernel);
        field(33, self.parting_fd);
        field(34, self.run_as);
        field(35, self.pids_events_fd);
        field(36, self.cpu_stat_fd);
        field(37, self.denials_fd);
    }
};

} // namespace berth::protocol

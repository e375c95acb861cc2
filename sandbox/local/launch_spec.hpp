#pragma once

// What the server asks of the launcher and what it hears back. Both are of the same release and
// installed together, but they are different programs: the same encoding as for the guest serves.

#include "sandbox/local/v1_bases.hpp"
#include "sandbox/protocol/guest_config.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace berth::local {

/// The descriptor that the launcher is started with, a socket. Its end: stop. What comes in:
/// - `message_launch` with a memfd, the LaunchSpec, and what is Lent, as far as it is there;
/// - a Handover, once the sources of the `late` binds are there.
/// What goes out: `message_mounted`, once what the launcher clones and mounts itself shows the host
/// as it is, then the encoded LaunchResult, which never begins like that; or that alone.
inline constexpr int launcher_control_fd = 3;
inline constexpr char message_launch = 'L';
inline constexpr char message_mounted = 'M';

/// Descriptors that a launch is given; -1: none.
struct Lent {
    int lifetime = -1; ///< the read end of the lifetime pipe, for the guest
    /// The session's lock, held until the launcher has made the machine or removed it again: its
    /// cgroups, its socket and its folders have the session's name, and a server that is killed
    /// meanwhile must not leave a launcher behind that clears away what the next server makes.
    int lock = -1;
    /// The session's end of its proxy (filter/policy.hpp), of a filtered network.
    int proxy = -1;
};

/// An eventfd, counted once a machine is wanted: `message_launch` comes, or the end of the socket.
/// By this the launcher is woken and not by the socket, whose reader the kernel puts on the
/// processor of the writer, to wait until the server has nothing more to do: the two are to work
/// side by side. Nothing goes back by it: of a launcher that has not looked yet the server would
/// hear its own count.
inline constexpr int launcher_wake_fd = 5;
/// What is counted: whether the launcher was put on another processor than the server's thread. On
/// the same one neither may wait for the other without sleep (poll_awake.hpp).
inline constexpr std::uint64_t wake_beside = 1;
inline constexpr std::uint64_t wake_apart = 2;

/// The launcher's program where that is a sealed memfd. Of no other use to the launcher.
inline constexpr int launcher_program_fd = 4;

/// A socket that a zygote is started with, in place of the control socket and the eventfd. Its end:
/// stop. What comes in:
/// - `message_prepare` with a memfd: Ahead, what the next specs will probably have; as root only;
/// - `message_fork`, or `message_fork_to_wait` and the name of the cgroups that it may make ahead,
///   for one that has nothing to do yet, with the two descriptors of a launcher. That tells its pid
///   on its control socket, before all else: were it for the zygote to tell, nobody would know of
///   the launcher of one that is killed. Where there is none, -errno goes out here. Each is an
///   std::int32_t.
inline constexpr int zygote_fd = 6;
inline constexpr char message_prepare = 'P';
inline constexpr char message_fork = 'F';
inline constexpr char message_fork_to_wait = 'W';

/// For so long nobody has wanted a machine when the next one is begun. Where one is made right
/// behind another, what takes the processors from that one's making would not be ready for it
/// either.
inline constexpr std::chrono::milliseconds quiet{5};

/// What shows a piece of the host inside.
struct Bind {
    std::string source; ///< absolute, on the host
    std::string target; ///< absolute, inside
    bool writable = false;
    /// The files of the source's owner belong to the session's user inside (root only).
    bool id_mapped = false;
    /// Symbolic links on the way to the source are followed. Only for what belongs to the system:
    /// elsewhere an earlier sandbox may have put a link that leads out of its folder.
    bool follow_links = false;
    bool optional = false; ///< skipped when it cannot be opened
    bool devices = false;  ///< device nodes work
    /// A folder that the server makes while the launch is under way.
    bool late = false;
    /// Which file or folder the source was when it was judged (st_dev, st_ino); another one in its
    /// place is not mounted. 0: whichever is there.
    std::uint64_t source_device = 0;
    std::uint64_t source_number = 0;

    friend bool operator==(const Bind&, const Bind&) = default;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.source);
        field(2, self.target);
        field(3, self.writable);
        field(4, self.id_mapped);
        field(5, self.follow_links);
        field(6, self.optional);
        field(7, self.devices);
        field(8, self.late);
        field(9, self.source_device);
        field(10, self.source_number);
    }
};

/// A file that is written into the sandbox's own root.
struct TextFile {
    std::string path;
    std::string content;
    bool executable = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.content);
        field(3, self.executable);
    }
};

struct SymbolicLink {
    std::string path;
    std::string target;

    friend bool operator==(const SymbolicLink&, const SymbolicLink&) = default;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.path);
        field(2, self.target);
    }
};

/// A folder or file in a bind that is covered with an empty one.
struct Cover {
    std::string source; ///< absolute, on the host, without links; need not be there
    std::string target; ///< absolute, inside

    friend bool operator==(const Cover&, const Cover&) = default;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.source);
        field(2, self.target);
    }
};

/// What a root begins with.
struct RootParts {
    std::vector<std::string> directories;
    std::vector<Bind> binds;
    std::vector<TextFile> files;
    std::vector<SymbolicLink> links;
    std::vector<Cover> hidden;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.directories);
        field(2, self.binds);
        field(3, self.files);
        field(4, self.links);
        field(5, self.hidden);
    }
};

/// What of a sandbox is the same for many, beside its root.
struct Surroundings {
    bool own_network = true;
    std::string host_name;

    friend bool operator==(const Surroundings&, const Surroundings&) = default;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.own_network);
        field(2, self.host_name);
    }
};

/// The cgroups of one session, `<base>/berth/<name>`. `v2_base` is a directory that
/// exists, or empty for none. The launcher makes those of v2, the server meanwhile those of v1
/// (V1Share).
struct CgroupSpec {
    std::string name;
    std::string v2_base;
    bool v2_controllers = false; ///< limits are set in v2, else in the v1 hierarchies below
    bool v2_io = false;          ///< and a weight for the disk
    bool new_namespace = false;  ///< with a cgroup namespace of its own
    V1Bases v1;
    std::uint64_t memory = 0; ///< bytes, of all commands together
    std::uint64_t guest_memory = 0;
    std::uint32_t pids = 0;
    std::uint64_t cpu_quota = 0; ///< microseconds in each 100 ms

    friend bool operator==(const CgroupSpec&, const CgroupSpec&) = default;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.name);
        field(2, self.v2_base);
        field(3, self.v2_controllers);
        field(4, self.new_namespace);
        field(5, self.v1.memory);
        field(6, self.v1.pids);
        field(7, self.v1.cpu);
        field(8, self.memory);
        field(9, self.guest_memory);
        field(10, self.pids);
        field(11, self.cpu_quota);
        field(12, self.v1.freezer);
        field(13, self.v2_io);
    }
};

/// What a launcher that waits makes of a machine before it knows of which.
struct Ahead {
    std::string base; ///< of the LaunchSpec
    Surroundings surroundings;
    CgroupSpec cgroup;   ///< but for the name, which each launcher is told
    std::string sockets; ///< the folder of guests' sockets (runtime_folder())
    std::uint64_t shm_size = 0;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.base);
        field(2, self.surroundings);
        field(3, self.cgroup);
        field(4, self.sockets);
        field(5, self.shm_size);
    }
};

struct LaunchSpec {
    /// Only tries whether a sandbox can be made: everything but the guest.
    bool probe = false;
    /// As root: the session has `host_uid` of its own. Else it has the caller's.
    bool privileged = false;
    std::uint32_t host_uid = 0;
    std::uint32_t host_gid = 0;
    std::uint32_t inner_uid = 1000;
    std::uint32_t inner_gid = 1000;
    Surroundings surroundings;
    /// Sockets of its loopback go to the proxy, whose end of the session is among what is lent.
    bool filtered_network = false;
    std::uint64_t shm_size = 0;
    /// RootParts, encoded: they are the same for most machines, and mostly compared alone.
    std::string base;
    std::vector<Bind> binds; ///< of this one; mounted after the others, in this order
    CgroupSpec cgroup;
    std::string socket_path;
    /// The launcher becomes the guest itself, which it has in it, instead of starting
    /// `guest_program`. Only a launcher that runs from a sealed memfd may: the program of a guest
    /// is open to it at /proc/self/exe, and one that was taken over could write to an installed
    /// file that its user owns.
    bool become_guest = false;
    std::string guest_program;
    /// The processors (a cpu_set_t) that the launcher may have again once it is awake; empty: all
    /// that it has.
    std::string processors;
    /// Its cgroups have the name that the launcher was told when it was forked: all are the
    /// launcher's to make, whether it has made them ahead or not.
    bool named_ahead = false;
    bool has_lock = false;       ///< the lock is among what is lent, before the lifetime pipe
    bool has_proxy = false;      ///< so is the end of the proxy, between the two
    protocol::GuestConfig guest; ///< the descriptors in it are filled in by the launcher

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.probe);
        field(2, self.privileged);
        field(3, self.host_uid);
        field(4, self.host_gid);
        field(5, self.inner_uid);
        field(6, self.inner_gid);
        field(7, self.surroundings);
        field(9, self.shm_size);
        field(10, self.base);
        field(11, self.binds);
        field(13, self.cgroup);
        field(14, self.socket_path);
        field(15, self.guest_program);
        field(16, self.guest);
        field(17, self.become_guest);
        field(18, self.processors);
        field(19, self.has_lock);
        field(20, self.filtered_network);
        field(21, self.has_proxy);
        field(22, self.named_ahead);
    }
};

/// The step of the result of a launcher, or of its guest, that was killed and could say nothing.
inline constexpr const char* step_killed = "killed";

/// "ready", or what failed.
struct LaunchResult {
    bool ok = false;
    std::int64_t pid = 0;         ///< of the guest, as the launcher sees it
    std::uint64_t start_time = 0; ///< of the guest, clock ticks since boot (proc(5), field 22)
    std::string step;             ///< userns, identity, mounts, proc, network, seccomp ...
    std::int32_t error = 0;       ///< errno
    std::string text;
    bool nested_closed_by_filter = false; ///< not by user.max_user_namespaces
    std::vector<std::string> missing;     ///< names of layers that could not be had
    std::uint32_t landlock = 0;           ///< its version (landlock(7)); 0: none is in force

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.ok);
        field(2, self.pid);
        field(3, self.start_time);
        field(4, self.step);
        field(5, self.error);
        field(6, self.text);
        field(7, self.nested_closed_by_filter);
        field(8, self.missing);
        field(9, self.landlock);
    }
};

/// The result of a step inside the namespaces, sent to the launcher over a pipe.
struct ChildReport {
    std::string step;
    std::int32_t error = 0;
    std::string text;
    bool nested_closed_by_filter = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.step);
        field(2, self.error);
        field(3, self.text);
        field(4, self.nested_closed_by_filter);
    }
};

} // namespace berth::local

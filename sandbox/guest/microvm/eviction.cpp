#include "sandbox/guest/microvm/eviction.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/guest/exec/process_tree.hpp"
#include "sandbox/guest/exec/shim.hpp"
#include "sandbox/guest/microvm/resident.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr std::chrono::seconds patience{10};
constexpr std::chrono::milliseconds rest{5};

std::string read_of(pid_t process, const char* file)
{
    constexpr std::size_t enough = 4096;
    try {
        return read_file_limited(AT_FDCWD, "/proc/" + std::to_string(process) + '/' + file, enough);
    } catch (const std::exception&) {
        return {}; // it has ended, or is none of ours
    }
}

/// Guest and shims have the arguments of who started the guest, since no program was started anew,
/// and are that one's. A command that calls itself so, to be spared, is somebody else's. Its
/// command line is read last: it stands in the process's memory, and a command that hangs with that
/// locked would have whoever reads it wait for as long.
bool was_started_for(const std::string& folder, pid_t process)
{
    using namespace std::string_literals;
    const auto own = "\nUid:\t" + std::to_string(::getuid()) + '\t';
    return read_of(process, "status").find(own) != std::string::npos &&
           read_of(process, "cmdline").ends_with("\0reside\0"s + folder + '\0');
}

/// Those who have commands below them.
struct Masters {
    std::vector<ProcessStat> guests;
    std::vector<ProcessStat> shims; ///< each ends by itself when nothing is below it any more

    [[nodiscard]] std::vector<pid_t> pids() const
    {
        std::vector<pid_t> all;
        for (const auto* list : {&guests, &shims}) {
            for (const auto& process : *list) {
                all.push_back(process.pid);
            }
        }
        return all;
    }
};

Masters masters_among(const std::vector<ProcessStat>& all, const std::string& folder)
{
    Masters found;
    for (const auto& process : all) {
        const auto name = process.alive() ? read_of(process.pid, "comm") : std::string();
        auto* const list = name == std::string(resident_name) + '\n' ? &found.guests
                           : name == std::string(shim_name) + '\n'   ? &found.shims
                                                                     : nullptr;
        if (list != nullptr && was_started_for(folder, process.pid)) {
            list->push_back(process);
        }
    }
    return found;
}

/// What starts others as fast as it is killed is stopped first, and is looked for again until
/// nothing new has turned up.
void kill_commands(const Masters& masters, const Deadline& deadline)
{
    const auto roots = masters.pids();
    std::vector<ProcessStat> seen;
    for (std::size_t before = 1; before != seen.size() && !deadline.expired();) {
        before = seen.size();
        seen = descendants(all_processes(), roots);
        std::erase_if(seen, [&](const ProcessStat& process) {
            return std::ranges::find(roots, process.pid) != roots.end();
        });
        for (const auto& process : seen) {
            signal_process(process, SIGSTOP);
        }
    }
    for (const auto& process : seen) {
        signal_process(process, SIGKILL);
    }
}

} // namespace

void evict_guests(const std::string& folder)
{
    const auto deadline = Deadline::after(patience);
    for (;;) {
        const auto masters = masters_among(all_processes(), folder);
        if (masters.guests.empty() && masters.shims.empty()) {
            return;
        }
        for (const auto& guest : masters.guests) {
            signal_process(guest, SIGSTOP); // it starts nothing from here on
        }
        kill_commands(masters, deadline);
        for (const auto& shim : masters.shims) {
            signal_process(shim, SIGCONT); // a command that became root may have stopped it
        }
        for (const auto& guest : masters.guests) {
            signal_process(guest, SIGKILL);
        }
        if (deadline.expired()) {
            throw Error(ErrorCode::backend_error,
                        "what an earlier guest of this sandbox has started does not end",
                        "A file system that does not answer may hold it; try again later.");
        }
        std::this_thread::sleep_for(rest);
    }
}

} // namespace berth::guest

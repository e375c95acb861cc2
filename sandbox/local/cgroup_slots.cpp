#include "sandbox/local/cgroup_slots.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/cgroup_tree.hpp"

#include <cerrno>
#include <chrono>
#include <exception>

#include <fcntl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr std::string_view prefix = "ahead";
constexpr std::size_t random_bytes = 8;

/// A guest is in its own from the beginning to its end. Where that cannot be read, too.
bool has_guest(int slot)
{
    try {
        constexpr std::size_t enough = 4096;
        return !read_file_limited(slot, "guest/cgroup.procs", enough).empty();
    } catch (const std::exception&) {
        return ::faccessat(slot, "guest", F_OK, 0) == 0;
    }
}

/// It may be one that is just being made, in the order `guest`, `cmds`. First the one that the
/// guest is born in, which the kernel keeps once that is there: were another one gone by then,
/// there would be a guest that cannot start commands. Without that one none is born. Where it is
/// missing it was there before only if `cmds` is older than this look for it. By a descriptor: one
/// that a launcher makes anew under this name is another.
void remove_if_abandoned(int folder, const std::string& slot)
{
    const UniqueFd own = open_subdirectory(folder, slot.c_str());
    if (!own || has_guest(own.get())) {
        return;
    }
    const bool was_whole = ::faccessat(own.get(), "cmds", F_OK, 0) == 0;
    const bool removed = ::unlinkat(own.get(), "guest", AT_REMOVEDIR) == 0;
    if (!removed && errno != ENOENT) {
        return;
    }
    if (removed || was_whole) {
        remove_cgroup("/proc/self/fd/" + std::to_string(own.get()) + "/cmds",
                      Deadline::after(std::chrono::seconds(0)));
    }
    // Of a machine that was made, and has ended: its proxy may have been the last to go.
    ::unlinkat(own.get(), "proxy", AT_REMOVEDIR);
    ::unlinkat(folder, slot.c_str(), AT_REMOVEDIR);
}

void remove_abandoned_in(const std::string& base, const Deadline& deadline)
{
    const std::string all = base + "/berth";
    const UniqueFd folder(::open(all.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) {
        return;
    }
    for (const auto& name : directory_names(folder.get())) {
        if (deadline.expired()) {
            return; // the next server goes on
        }
        if (is_slot(name)) {
            remove_if_abandoned(folder.get(), name);
        }
    }
    remove_abandoned(all);
}

} // namespace

std::string new_slot()
{
    return std::string(prefix) + random_hex(random_bytes);
}

bool is_slot(std::string_view name) noexcept
{
    return name.size() == prefix.size() + 2 * random_bytes && name.starts_with(prefix) &&
           name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

bool is_lost_slot(const LaunchResult& result) noexcept
{
    // Of a removed cgroup's files and folders, and of a birth in it.
    return !result.ok && (result.step == "cgroup" || result.step == "namespaces") &&
           (result.error == ENODEV || result.error == ENOENT);
}

void remove_abandoned_slots(const CgroupLayout& layout, const Deadline& deadline)
{
    for (const auto& base : layout.directories()) {
        remove_abandoned_in(base, deadline);
    }
}

} // namespace berth::local

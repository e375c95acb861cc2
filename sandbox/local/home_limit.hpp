#pragma once

#include "sandbox/local/project_kernel.hpp"

#include <cstdint>
#include <string>

namespace berth::local {

// session.quota as the kernel keeps it, where it can: a session's home is a project of its own,
// with an id of berth's range that nothing else on that file system counts for. The home's own mark
// is the only record of it: nobody but root can write it, and it goes with the folder. `folder`:
// the session's, open; the home is "home" in it (docs/adr/0018-quota.md).

/// For a new machine, while none lives. `bytes`: 0 takes away what an earlier machine had. Empty:
/// the kernel keeps it; else why it does not, and then no limit of the kernel's is in force.
/// A home that had none before is marked whole first, which takes as long as a look at each file.
[[nodiscard]] std::string limit_home(ProjectKernel& kernel, int folder, std::uint64_t bytes);

/// Of a living machine, its folder being at `path` in the directory `at`: another limit, not 0, in
/// place of the one that the kernel keeps. False where it keeps none, or cannot.
[[nodiscard]] bool change_home_limit(ProjectKernel& kernel, int at, const std::string& path,
                                     std::uint64_t bytes) noexcept;

/// Before the home is removed.
void drop_home_limit(ProjectKernel& kernel, int folder) noexcept;

/// The lines that would have the kernel keep it for the state directory at that path.
[[nodiscard]] std::string home_limit_remedy(const std::string& state);

} // namespace berth::local

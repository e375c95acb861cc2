#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launcher/root.hpp"

#include <vector>

namespace berth::local {

/// Detached clones of what lies over entries of /proc. They cost half of the time that the covering
/// takes, and can be made before there is a /proc to cover.
struct ProcCovers {
    std::vector<UniqueFd> files;
    std::vector<UniqueFd> folders;
};

/// As many as mask_proc() will need, by the entries that `proc`, any mount of proc, has.
[[nodiscard]] ProcCovers clone_proc_covers(const Root& root, int proc);

/// Covers what tells of, or changes, the host. After this /proc/sys cannot be written. What of
/// `covers` is missing is made.
void mask_proc(const Root& root, ProcCovers covers = {});

} // namespace berth::local

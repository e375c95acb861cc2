#pragma once

namespace berth::guest {

/// For a shim, which never execs: gives back the memory that its clone has from the guest. Pages
/// that the guest held at that moment (the input of the command, requests of megabytes) stay
/// charged to the guest's cgroup, though it has freed them, until no process maps them any more;
/// with some jobs that live for hours there would be none left for the guest's own work.
///
/// Afterwards nothing may be relied on but static data, the stack around the caller and the calling
/// thread's own storage: heap, other stacks and anonymous mappings read as zero. (Some of it stays
/// all the same, such as a heap that directly follows the static data.) Async-signal-safe. Does
/// nothing where /proc cannot be read, and nothing in builds with a sanitizer, whose runtime lives
/// in such memory.
void drop_inherited_memory() noexcept;

} // namespace berth::guest

#pragma once

#include "sandbox/local/launcher/root.hpp"

namespace berth::local {

/// What /dev has besides the bound device nodes: a limited number of pseudo-terminals of its
/// own, shared memory of `shm_size` bytes, the links to the standard streams.
void make_dev(const Root& root, std::uint64_t shm_size);

/// Of shared memory that was made with another size.
void resize_shm(const Root& root, std::uint64_t shm_size);

/// What make_dev() made as another user than the session's. As root, outside. `root`: its mount.
void give_dev(int root, const LaunchSpec& spec);

} // namespace berth::local

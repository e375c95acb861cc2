#pragma once

#include "sandbox/local/launcher/root.hpp"

namespace berth::local {

/// What /dev has besides the bound device nodes: pseudo-terminals of its own, shared memory of
/// `shm_size` bytes, the links to the standard streams.
void make_dev(const Root& root, std::uint64_t shm_size);

} // namespace berth::local

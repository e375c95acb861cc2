#pragma once

#include "sandbox/local/project_kernel.hpp"

#include <cstdint>

namespace berth::local {

/// Has the open folder `top` and all files and folders below it count for the project, and what is
/// made there from then on: the folder itself last, so that its mark says that all of them have
/// theirs. Its content may be hostile: nothing is opened but regular files and folders, links are
/// not followed, what is mounted below stays as it is, any depth works with a bounded stack and few
/// descriptors. Nobody may change the tree meanwhile, but no change leads out of it. Links, pipes
/// and sockets that are there already keep their own project: they can grow no more.
/// Throws std::system_error, Error.
void give_project(ProjectKernel& kernel, int top, std::uint32_t id);

} // namespace berth::local

// In the place of sandbox/local/launcher/proc_masks.cpp: the launcher that leaves /proc as the
// kernel mounts it, so that a test can see that what it tries works where nothing stops it. Never
// installed.

#include "sandbox/local/launcher/proc_masks.hpp"

namespace berth::local {

ProcCovers clone_proc_covers(const Root& /*root*/, int /*proc*/)
{
    return {};
}

void mask_proc(const Root& /*root*/, ProcCovers /*covers*/) {}

} // namespace berth::local

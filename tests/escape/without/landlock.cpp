// In the place of sandbox/local/launcher/landlock.cpp: the launcher without Landlock, so that a
// test can see that what it tries works where nothing stops it. Never installed.

#include "sandbox/local/launcher/landlock.hpp"

namespace berth::local {

unsigned landlock_version() noexcept
{
    return 0;
}

void restrict_files(const Reach& /*reach*/) {}

} // namespace berth::local

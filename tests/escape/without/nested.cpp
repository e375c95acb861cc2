// In the place of sandbox/local/launcher/nested_namespaces.cpp: the launcher that leaves nested
// user namespaces open and says that it closed them, so that a test can see that what it tries
// works where nothing stops it. Never installed.

#include "sandbox/local/launcher/nested_namespaces.hpp"

namespace berth::local {

bool close_nested_namespaces(const Root& /*root*/)
{
    return true;
}

} // namespace berth::local

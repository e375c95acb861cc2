#pragma once

namespace berth::local {

/// Of the launcher and, inherited, the guest: no core files, as many descriptors as the host
/// allows. Those of the commands are the guest's to set.
void set_resource_limits();

} // namespace berth::local

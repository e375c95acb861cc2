#pragma once

namespace berth::local {

/// Brings up `lo` of the child's own network namespace: programs talk to themselves over it.
void bring_up_loopback();

} // namespace berth::local

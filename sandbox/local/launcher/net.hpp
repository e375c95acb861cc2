#pragma once

namespace berth::local {

/// Brings up `lo` of the child's own network namespace: programs talk to themselves over it.
void bring_up_loopback();

/// Of a filtered network: sockets of the child's own loopback, a listening one for connections and
/// one for questions of names, go to the proxy at the other end of `proxy`, which accepts and
/// answers there (docs/adr/0033-filtered-network.md). As long as the child may bind the latter.
void hand_out_sockets(int proxy);

} // namespace berth::local

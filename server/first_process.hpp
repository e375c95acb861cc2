#pragma once

namespace berth::server {

/// Where this process is the first of its pid namespace, as the entrypoint of a container that has
/// no init: goes on in a child, while the first process does what only it can, which is to reap
/// whoever has lost its parent. Guests and proxies outlive the launcher that made them: each would
/// stay, dead, until the limit on processes is reached. Signals are passed on, and the child's exit
/// status is the first process's. To be called before there are threads. Where no child can be made
/// nothing is changed.
void leave_first_process();

} // namespace berth::server

#pragma once

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"

#include <utility>

namespace berth::local {

/// Between a launcher and the guest-to-be: what the child's end is closed in, and the launcher's.
struct Wires {
    std::pair<UniqueFd, UniqueFd> handover = make_socket_pair(); ///< the launcher's, the child's
    Pipe report = make_pipe();
    Pipe ready = make_pipe();

    /// In the child: held open here the launcher's ends could not be seen to close.
    void keep_childs_ends()
    {
        handover.first.reset();
        ready.read.reset();
        report.read.reset();
    }

    void keep_launchers_ends()
    {
        handover.second.reset();
        ready.write.reset();
        report.write.reset();
    }
};

} // namespace berth::local

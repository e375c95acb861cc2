#pragma once

#include "sandbox/protocol/residence.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace berth::guest {

/// Of the connector's environment; nothing where it is not set.
using Variable = std::function<std::optional<std::string_view>(const std::string& name)>;

struct ConnectorStreams {
    int input = 0;
    int output = 1; ///< is made one that does not block
};

/// `berth-guest connect FOLDER`, as root of a microVM: one call of a host to the guest that is
/// resident in `folder`. What the environment has as a sealed opening goes to it first, then what
/// comes at the input, for as long as any does; what it says goes to the output, up to the end of
/// its answer. SIGPIPE must be ignored. Throws Error, std::system_error or WireError for
/// ConnectorEnd::failed.
[[nodiscard]] protocol::ConnectorEnd connect_to_resident(const std::string& folder,
                                                         const ConnectorStreams& streams,
                                                         const Variable& variable);

} // namespace berth::guest

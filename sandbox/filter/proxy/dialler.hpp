#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/rules.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace berth::filter {

/// A connection to a target, or why there is none.
struct Dialled {
    enum class Failure : std::uint8_t { none, denied, unknown_name, unreachable, refused };

    UniqueFd socket; ///< non-blocking
    Failure failure = Failure::none;
    std::string reason; ///< of a failure that is no denial
    std::optional<protocol::Denial> denial;
};

/// Judges it, resolves its name once, judges each address, and connects to the first that answers:
/// where one of them may not be reached none is, since a name whose owner points it at such a place
/// is not meant well. Takes a minute at most, but for the host's resolver.
[[nodiscard]] Dialled dial(const Rules& rules, const Target& target);

} // namespace berth::filter

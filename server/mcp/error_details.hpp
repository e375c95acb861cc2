#pragma once

#include "sandbox/base/error.hpp"

#include <nlohmann/json_fwd.hpp>

namespace berth::mcp {

/// After so many seconds what is busy is worth another try where nobody knows better: a lock in
/// shared books has lapsed by then whose holder died.
inline constexpr unsigned usual_retry = 5;

/// The details of an error as programs find them, by schemas/error.json. An Error carries them as
/// text, as they travel; here numbers and truths become such, lists become arrays, and keys with a
/// full stop (`cut_off.bytes`) members of an object. A guest is not trusted: what is not of its
/// type is left out. What is busy always says when to try again.
[[nodiscard]] nlohmann::json details_of(const Error& error);

/// The data of an error of the protocol itself: `code`, `hint` where there is one, and when to try
/// again.
[[nodiscard]] nlohmann::json protocol_data(const Error& error);

} // namespace berth::mcp

#pragma once

#include "tests/conformance/fixture.hpp"

#include <string>

// What a request of 2026-07-28 brings that is sent again with what the client found out.

namespace berth::conformance {

/// The answer to the request of that key; null: it is missing, or none that makes sense. Throws
/// rpc::ProtocolError where there are no answers where some should be.
[[nodiscard]] const json* answer_to(const json& params, const std::string& key);

/// The string of that name that a user gave and meant; null: he did not.
[[nodiscard]] const json* elicited(const json& params, const std::string& key,
                                   const std::string& name);

/// `text` with a seal of this server: a client keeps it, and may send anything.
[[nodiscard]] std::string sealed(const std::string& text);

/// The text of the request's `requestState`; empty: there is none. Throws rpc::ProtocolError for
/// one that this server has not sealed.
[[nodiscard]] std::string state_of(const json& params);

} // namespace berth::conformance

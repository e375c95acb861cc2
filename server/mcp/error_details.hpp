#pragma once

#include "sandbox/base/error.hpp"

#include <nlohmann/json_fwd.hpp>

namespace berth::mcp {

/// The details of an error as programs find them, by schemas/error.json. An Error carries them as
/// text, as they travel; here numbers and truths become such, lists become arrays, and keys with a
/// full stop (`cut_off.bytes`) members of an object. A guest is not trusted: what is not of its
/// type is left out.
[[nodiscard]] nlohmann::json details_of(const Error& error);

} // namespace berth::mcp

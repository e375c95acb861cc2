#pragma once

#include "sandbox/filter/request.hpp"
#include "sandbox/filter/secret_book.hpp"

#include <optional>
#include <vector>

namespace berth::filter {

/// Puts values in the place of placeholders: in the values of header fields but those that servers
/// send back as a matter of course, in the credentials of Basic (which are base64), and, where the
/// place takes it, percent-encoded in the path and the query. Not in names, nor in the body: what
/// is stored and shown to others is mostly sent there.
///
/// Returns why the request may not go on, with nothing of it changed that matters any more: a
/// placeholder is in it that is of another place, whose value is not known, or where none is put.
/// Throws BadRequest where the head would be too long.
[[nodiscard]] std::optional<protocol::Denial>
put_secrets_in(Request& request, const std::vector<Replacement>& replacements);

} // namespace berth::filter

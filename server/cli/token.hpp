#pragma once

#include <string>

namespace berth::server::cli {

/// Makes a token for calls over HTTP. Its entry for the token file goes to standard output, which
/// can be appended to the file; the token itself, which is kept nowhere, to stderr. Exit status 0.
[[nodiscard]] int make_token(const std::string& principal);

} // namespace berth::server::cli

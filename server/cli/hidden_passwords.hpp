#pragma once

#include <string>
#include <string_view>

namespace berth::server::cli {

/// With `***` for the password of each address in it (`scheme://USER:PASSWORD@…`). What is quoted
/// of a mistyped command line or settings file is shown on terminals and kept in the logs of
/// clients, and a flag with a wrong letter may have had one for its value. Rather hides too much:
/// a password may have been written without the %XX that it needs.
[[nodiscard]] std::string hide_passwords(std::string_view text);

} // namespace berth::server::cli

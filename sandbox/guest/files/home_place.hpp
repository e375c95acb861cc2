#pragma once

#include "sandbox/guest/paths.hpp"

#include <optional>
#include <string>

namespace berth::guest {

/// A place of the home, as its own names say: no symbolic link leads there.
struct HomePlace {
    std::optional<Opened> opened; ///< a file or a directory, for reading
    /// Else what is there, or on the way, and holds no files of the home: "out: symbolic link".
    std::string skipped;
};

/// Opens what is at the absolute path. Throws Error: not_found where neither is, invalid_path for
/// what is not in the home, another by errno where it cannot be read.
[[nodiscard]] HomePlace open_in_home(const std::string& absolute, const CallContext& context);

/// The name below the home of what is at the absolute path; empty: the home itself. Throws
/// Error(invalid_path).
[[nodiscard]] std::string name_in_home(const std::string& absolute, const CallContext& context);

} // namespace berth::guest

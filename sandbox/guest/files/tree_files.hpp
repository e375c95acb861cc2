#pragma once

#include "sandbox/guest/call_context.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace berth::guest {

struct TreeFile {
    std::string name; ///< relative to the root
    std::uint64_t size = 0;
};

struct TreeFiles {
    std::vector<TreeFile> files;      ///< regular ones, by name
    std::vector<std::string> skipped; ///< "name: reason", at most max_skipped of them
    std::uint64_t skipped_total = 0;
    std::uint64_t bytes = 0; ///< of all files
};

inline constexpr std::size_t max_skipped = 1000;

/// What may be taken, and when it is too much.
struct TreeLimits {
    std::uint64_t max_bytes = 0;
    std::uint64_t max_entries = 0;
    /// Of a relative name; an empty function takes all.
    std::function<bool(std::string_view name)> wanted;
    /// Whether to look below a directory, by its relative name; an empty function: always.
    std::function<bool(std::string_view name)> enters;
    /// A wanted file that cannot be taken, and a directory that cannot be looked into, is an Error:
    /// only what has no content is skipped.
    bool all_or_none = false;
};

/// The files below a directory, symlinks not followed; everything else is named in `skipped`, also
/// empty directories and what has a name that is not UTF-8.
/// Throws Error(too_large) as soon as a limit is passed; backend_error or another by errno when a
/// directory cannot be read to its end; permission_denied, invalid_path or too_large for what
/// `all_or_none` does not let it skip.
[[nodiscard]] TreeFiles list_tree(int root, const std::string& root_path, const TreeLimits& limits,
                                  const CallContext& context);

/// Of what is neither a file nor a directory: "symbolic link", "named pipe" ...
[[nodiscard]] std::string type_of_special(mode_t mode);

} // namespace berth::guest

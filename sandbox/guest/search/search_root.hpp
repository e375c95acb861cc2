#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/call_context.hpp"

#include <string>
#include <string_view>

namespace berth::guest::search {

/// Where a search begins.
struct SearchRoot {
    UniqueFd fd;
    std::string path; ///< where `fd` really is, absolute
    bool is_directory = false;
};

/// `path` as paths.hpp takes it; empty: the working directory. Throws Error: not_found,
/// permission_denied, invalid_path, not_a_file for what is neither directory nor regular file.
[[nodiscard]] SearchRoot open_search_root(std::string_view path, const CallContext& context);

/// Opens a file below `directory` that a walk found, without following a symlink that has come in
/// the place of any component since. Invalid when that is not possible.
[[nodiscard]] UniqueFd reopen_below(int directory, std::string_view relative, int flags) noexcept;

} // namespace berth::guest::search

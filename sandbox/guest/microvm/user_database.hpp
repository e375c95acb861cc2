#pragma once

#include "sandbox/protocol/user_ids.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace berth::guest {

/// The ids of a user by the texts of passwd(5) and group(5): the guest is linked statically, and
/// the C library's own look-up would load code of the sandbox. Nothing where there is none, or its
/// line cannot be read.
[[nodiscard]] std::optional<protocol::UserIds>
user_ids(std::string_view name, std::string_view passwd, std::string_view groups);

/// The same of this machine's files. Throws Error(sandbox_unavailable) where there is no such user,
/// std::system_error where they cannot be read.
[[nodiscard]] protocol::UserIds find_user(const std::string& name);

} // namespace berth::guest

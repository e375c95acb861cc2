#pragma once

#include "sandbox/backend.hpp"
#include "server/options/options.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace berth::server {

/// `$XDG_STATE_HOME/berth`, else `~/.local/state/berth`; of root `/var/lib/berth`.
[[nodiscard]] std::string default_state_directory(const Environment& environment);

/// `$XDG_CONFIG_HOME/berth/config.toml` (or below `~/.config`) and `/etc/berth/config.toml`.
[[nodiscard]] std::vector<std::string> default_config_files(const Environment& environment);

/// The first of them that exists; empty when there is none.
[[nodiscard]] std::string default_config_file(const Environment& environment);

/// The name of the effective user, or "uid-N" for one without a name. Throws
/// Error(sandbox_unavailable) where that cannot be told now.
[[nodiscard]] std::string user_name();
[[nodiscard]] std::string user_name(uid_t uid);

[[nodiscard]] std::string absolute_path(const std::string& path);

/// As one component of a path, whatever it is: others than plain characters as %XX, so that no two
/// sessions have one folder, and none has a folder above.
[[nodiscard]] std::string as_component(std::string_view value);

/// Behind a name of that kind, in which there is no `~`, where a session's key makes several of it:
/// `~` and the key's beginning.
[[nodiscard]] std::string key_tail(std::string_view key);

/// Takes HOST:TARGET[:ro|rw] apart. HOST becomes absolute and need not exist. Throws
/// Error(invalid_argument): a part is missing, or TARGET is not absolute.
[[nodiscard]] sandbox::Mount parse_mount(const std::string& text, const std::string& origin);

/// HOST without symbolic links. Throws Error(invalid_argument): it does not exist, or it contains
/// or lies in the state directory (a sandbox could then read the secrets of every other).
[[nodiscard]] std::string resolve_source(const sandbox::Mount& mount, const std::string& origin,
                                         const std::string& state_directory);

/// The template's folder without symbolic links. Throws Error(invalid_argument): it is no absolute
/// path, or there is no such folder.
[[nodiscard]] std::string resolve_template(const std::string& given, const std::string& origin);

/// Of one of E2B's, which are found there. Throws Error(invalid_argument): it can be none, such as
/// a folder that was meant for another backend.
void require_template_name(const std::string& given, const std::string& origin);

} // namespace berth::server

#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace berth::sandbox {

/// The name of the network file system with that statfs(2) magic, empty for a local one. Their
/// locks do not end with a dead server, or exclude only callers of the same host.
[[nodiscard]] std::string network_file_system(std::int64_t magic);

/// Opens the state directory, made 0700 when missing. Throws Error(sandbox_unavailable), with the
/// remedy, when it cannot be made, is on a network file system, or belongs to or may be written by
/// somebody else: they could put a record there and have this server attach to their machine.
/// Whoever writes there opens it so first: nothing is written to a folder that is not berth's.
[[nodiscard]] UniqueFd open_state_directory(const std::string& path);

/// The same without making anything: empty when it is missing and could be made, as far as can be
/// told without trying.
[[nodiscard]] UniqueFd find_state_directory(const std::string& path);

/// Why nothing can be written there now, as it tells who calls write_error(): a full disk, one that
/// fails, one that was made read-only for that. Nothing where a try shows that it can, where there
/// is no such directory yet, and where its file system has no file without a name to try with
/// (O_TMPFILE).
[[nodiscard]] std::optional<Error> why_unwritable(const std::string& path);

/// Of a failed write there: Error(no_space) when its disk or quota is used up, else nothing. `what`
/// could not be done. Names no path: the model reads it too.
[[nodiscard]] std::optional<Error> full_disk(int error, const std::string& what);

/// The same, and for any other `error` access_error().
[[nodiscard]] Error write_error(int error, const std::string& what, const std::string& doing,
                                const std::string& hint);

/// Of what failed there and writes nothing: what errno_error() makes of `doing` and `hint`; of a
/// limit of the server with its name, and with what raises it instead.
[[nodiscard]] Error access_error(int error, const std::string& doing, const std::string& hint);

} // namespace berth::sandbox

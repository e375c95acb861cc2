#pragma once

namespace berth::guest {

/// Whether the file has a name on its file system. That of GuestConfig::parting_fd has none once
/// somebody has removed the session's folder on the host, as by `rm -r`, or has made another
/// machine there: no server finds this one then, and each would make another beside it. True where
/// nobody can tell, and where there is no file (-1).
[[nodiscard]] bool has_name(int file) noexcept;

} // namespace berth::guest

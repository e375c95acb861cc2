#pragma once

#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/temporary_file.hpp"
#include "sandbox/guest/files/write_target.hpp"

#include <cstdint>
#include <string>

namespace berth::guest {

/// From the beginning to the beginning; `to` is cut to that size. `path` is for messages.
void copy_content(int from, int to, std::uint64_t size, const std::string& path,
                  const CallContext& context);

struct NewContent {
    int fd;
    std::uint64_t size;
};

struct OldContent {
    TemporaryFile& copy; ///< in the target's directory
    std::uint64_t size;
};

/// Writes new content over the old of `file`, with the ContentLock, for which it waits unless the
/// call is stopped. Once begun it is not stopped. When it fails the old content is put back; when
/// that fails as well its copy stays, under a name that the Error tells. The copy has that name
/// from the first byte on, so that it is there after a kill.
void overwrite(int file, const NewContent& content, const OldContent& old,
               const WriteTarget& target, const CallContext& context);

} // namespace berth::guest

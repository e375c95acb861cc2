#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/temporary_file.hpp"
#include "sandbox/protocol/guest_config.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace berth::guest {

/// What a call is about to append to a file, noted in the home, ".berth-append-<n>", as long as
/// this lives. The kernel cuts a write short where the process is killed: then the session's next
/// guest, which finds the note, takes back what was written.
class AppendNote {
  public:
    /// Throws nothing: where no note can be made (no room in the home, which need not be where the
    /// file is) there is none, and none for what goes into one page: that is never cut. `file` is
    /// open for appending, `path` where it is.
    AppendNote(int file, std::string_view content, const std::string& path,
               const CallContext& context) noexcept;

    /// False: there was none.
    bool remove() noexcept;

  private:
    UniqueFd home_;
    std::optional<TemporaryFile> note_;
};

/// Of the appends that a killed guest has noted and not ended, what they have written is cut off
/// again, unless somebody else has written between its parts or behind it: that is not ours to
/// remove. Before the first call; throws nothing.
void take_back_appends(const protocol::GuestConfig& config) noexcept;

} // namespace berth::guest

#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/tool.hpp"

namespace berth::tools {

/// What edit_file says of a file that it has edited.
[[nodiscard]] Result edit_report(const protocol::EditFileReply& reply, const Settings& settings);

/// What it says of a patch: a line for each file, then the diff.
[[nodiscard]] Result patch_report(const protocol::PatchFilesReply& reply, const Settings& settings);

} // namespace berth::tools

#pragma once

#include "sandbox/guest/call_context.hpp"
#include "sandbox/protocol/messages.hpp"

// Every operation on files, once for all backends. Each is a function of its request and context;
// the contract of the result is in protocol/messages.hpp.

namespace berth::guest {

[[nodiscard]] protocol::ReadFileReply read_file(const protocol::ReadFileRequest& request,
                                                const CallContext& context);
[[nodiscard]] protocol::WriteFileReply write_file(const protocol::WriteFileRequest& request,
                                                  const CallContext& context);
[[nodiscard]] protocol::EditFileReply edit_file(const protocol::EditFileRequest& request,
                                                const CallContext& context);
[[nodiscard]] protocol::PatchFilesReply patch_files(const protocol::PatchFilesRequest& request,
                                                    const CallContext& context);
[[nodiscard]] protocol::GlobReply glob_files(const protocol::GlobRequest& request,
                                             const CallContext& context);
[[nodiscard]] protocol::GrepReply grep_files(const protocol::GrepRequest& request,
                                             const CallContext& context);
[[nodiscard]] protocol::ExportReply export_files(const protocol::ExportRequest& request,
                                                 const CallContext& context);
/// Has the kernel write to its disk what was written in the home, and beside it; for as long as
/// that takes, which the one who asks bounds.
[[nodiscard]] protocol::SyncReply sync_files(const protocol::Empty& request,
                                             const CallContext& context);
[[nodiscard]] protocol::ImportReply import_files(const protocol::ImportRequest& request,
                                                 const CallContext& context);

} // namespace berth::guest

#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/document.hpp"
#include "sandbox/guest/files/kept_file.hpp"
#include "sandbox/guest/files/patch_text.hpp"
#include "sandbox/guest/files/replacement.hpp"
#include "sandbox/guest/files/temporary_file.hpp"
#include "sandbox/guest/files/write_target.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>

namespace berth::guest {

/// One file of a patch. It is planned (nothing is written), prepared (what it will be is complete
/// on the disk, without a name), and put in place; until the last file of the patch is in place,
/// each can be put back.
class PatchTarget {
  public:
    /// Locks the file, and finds what it becomes. `entry` and `context` must outlive it. Throws
    /// Error.
    PatchTarget(const PatchEntry& entry, std::uint64_t max_size, const CallContext& context);

    /// What the patch changes; nothing for a file that goes.
    [[nodiscard]] const std::optional<Document>& document() const noexcept { return document_; }

    [[nodiscard]] bool created() const noexcept { return !source_.target.exists(); }

    [[nodiscard]] bool binary() const noexcept { return binary_; }

    void prepare();
    /// The new content; after it no other file's can fail for want of room.
    void put();
    /// Takes away what goes: once all new content is in place.
    void remove();
    /// Undoes what was done so far, but for what a command has put there meanwhile. Throws Error
    /// when that fails, which says where the old content is.
    void undo(const CallContext& unstoppable);

    /// The result; its hash is computed for one that was not put in place.
    [[nodiscard]] protocol::PatchedFile result() const;

  private:
    [[nodiscard]] bool goes() const noexcept; ///< from where it is
    [[nodiscard]] WriteTarget& written() noexcept;
    void find_destination();
    void plan_content(std::uint64_t max_size);
    void put_back_copy(const CallContext& unstoppable);

    const PatchEntry& entry_;
    const CallContext& context_;
    LockedTarget source_;
    std::string path_; ///< of the source
    std::optional<LockedTarget> destination_;
    std::string destination_path_;
    UniqueFd original_;
    std::optional<Document> document_;
    std::optional<KeptFile> kept_;        ///< of a file that is there
    std::optional<TemporaryFile> backup_; ///< the old content, where kept_ does not keep it
    std::optional<Replacement> replacement_;
    std::string sha256_;
    unsigned through_ = 0;
    bool binary_ = false;
    std::optional<std::pair<dev_t, ino_t>> put_; ///< the file that was put in place
    bool removed_ = false;
};

} // namespace berth::guest

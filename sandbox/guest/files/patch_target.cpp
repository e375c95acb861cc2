#include "sandbox/guest/files/patch_target.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/document_facts.hpp"
#include "sandbox/guest/files/edit_errors.hpp"
#include "sandbox/guest/files/missing.hpp"
#include "sandbox/guest/files/overwrite.hpp"
#include "sandbox/guest/files/patch_hunks.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/files/tolerant_match.hpp"
#include "sandbox/guest/paths.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

using Kind = PatchEntry::Kind;

/// Who takes a link's name away means the link, and to follow it would take the file behind it.
void require_no_link(const std::string& path, const CallContext& context)
{
    struct stat status = {};
    const std::string whole = absolute_path(path, context);
    if (::fstatat(AT_FDCWD, whole.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode)) {
        throw Error(ErrorCode::unsupported,
                    visible(whole) + " is a symbolic link, and a patch removes and moves files",
                    "remove or rename the link in bash_exec, or name the file that it leads to");
    }
}

void require_absent(const WriteTarget& target)
{
    if (target.exists()) {
        throw Error(Error(ErrorCode::conflict, visible(target.path()) + " exists already",
                          "say *** Update File to change it, or delete it first")
                        .set_retryable(false));
    }
}

/// Which file has the target's name now; nothing when there is none.
std::optional<std::pair<dev_t, ino_t>> present(const WriteTarget& target)
{
    struct stat now = {};
    if (::fstatat(target.directory.get(), target.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) {
        return std::nullopt;
    }
    return std::pair(now.st_dev, now.st_ino);
}

} // namespace

PatchTarget::PatchTarget(const PatchEntry& entry, std::uint64_t max_size,
                         const CallContext& context)
    : entry_(entry), context_(context), source_(lock_write_target(entry.path, context)),
      path_(source_.target.path())
{
    WriteTarget& source = source_.target;
    if (entry.kind == Kind::add) {
        require_absent(source);
    } else if (!source.exists()) {
        throw_open_error(ENOENT, path_, context);
    }
    require_replaceable(source);
    if (goes()) {
        require_no_link(entry.path, context);
    }
    if (source.exists()) {
        if (!entry.hunks.empty()) {
            require_editable_size(static_cast<std::uint64_t>(source.status.st_size), max_size,
                                  path_);
        }
        original_ = open_for_reading(source);
        kept_.emplace(source);
    }
    find_destination();
    if (entry.kind != Kind::remove) {
        plan_content(max_size);
    }
}

bool PatchTarget::goes() const noexcept
{
    return entry_.kind == Kind::remove || !entry_.move_to.empty();
}

WriteTarget& PatchTarget::written() noexcept
{
    return destination_ ? destination_->target : source_.target;
}

void PatchTarget::find_destination()
{
    if (entry_.move_to.empty()) {
        return;
    }
    destination_ = lock_write_target(entry_.move_to, context_);
    destination_path_ = destination_->target.path();
    require_absent(destination_->target);
    require_replaceable(destination_->target);
}

void PatchTarget::plan_content(std::uint64_t max_size)
{
    const WriteTarget& source = source_.target;
    document_.emplace(original_.get(), static_cast<std::uint64_t>(source.status.st_size), path_,
                      context_);
    binary_ = entry_.content.find('\0') != std::string::npos;
    if (entry_.kind == Kind::add) {
        document_->replace({0}, 0, entry_.content);
    } else {
        if (!entry_.hunks.empty()) {
            require_narrow(original_.get(), source);
            binary_ = facts_of(*document_).binary; // the diff has the old lines too
            through_ = apply_hunks(entry_, *document_);
            require_editable_size(document_->size(), max_size, path_);
        }
        binary_ |= facts_of(*document_).binary;
    }
}

void PatchTarget::prepare()
{
    // What gets a name of ours is no leftover while this lives; somebody else's lock says so too.
    static_cast<void>(::flock(original_.get(), LOCK_SH | LOCK_NB));
    if (!document_) {
        return;
    }
    WriteTarget& source = source_.target;
    if (source.exists() && !destination_ && !kept_->link()) {
        backup_.emplace(source.directory.get(), source.directory_path, 0600);
        copy_content(original_.get(), backup_->fd(),
                     static_cast<std::uint64_t>(source.status.st_size), path_, context_);
    }
    make_parents(written(), context_);
    const auto mode = destination_ ? std::optional(source.status.st_mode) : std::nullopt;
    replacement_.emplace(written(),
                         Replacement::Options{.mode = mode,
                                              .exclusive = true,
                                              .only_unchanged = true,
                                              .moved = destination_ ? &source : nullptr},
                         context_);
    DocumentReader reader(*document_);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        replacement_->write(piece);
    }
}

void PatchTarget::put()
{
    if (replacement_) {
        sha256_ = replacement_->commit(context_);
        put_ = present(written());
    }
}

void PatchTarget::remove()
{
    if (goes()) {
        kept_->take_away();
        removed_ = true;
    }
}

/// Of what was written in place, or might have been.
void PatchTarget::put_back_copy(const CallContext& unstoppable)
{
    const WriteTarget& source = source_.target;
    try {
        Replacement old(source, {.mode = source.status.st_mode, .restores = true}, unstoppable);
        PieceReader reader(backup_->fd(), 0, static_cast<std::uint64_t>(source.status.st_size),
                           path_, unstoppable);
        for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
            old.write(piece);
        }
        static_cast<void>(old.commit(unstoppable));
    } catch (const Error& error) {
        if (backup_->expose(source.name) != 0) {
            throw;
        }
        throw Error(error.code(),
                    std::string(error.what()) + ": the old content is in " +
                        visible(source.directory_path + "/" + backup_->keep()),
                    error.hint());
    }
}

void PatchTarget::undo(const CallContext& unstoppable)
{
    replacement_.reset();
    if (std::exchange(removed_, false)) {
        kept_->put_back(false);
    }
    if (const auto put = std::exchange(put_, std::nullopt)) {
        if (present(written()) != put) {
            throw Error(ErrorCode::conflict,
                        visible(written().path()) + " was changed by a command meanwhile, and "
                                                    "stays as it is",
                        "look at it");
        }
        if (destination_ || !source_.target.exists()) {
            static_cast<void>(::unlinkat(written().directory.get(), written().name.c_str(), 0));
        } else if (backup_) {
            put_back_copy(unstoppable);
        } else {
            kept_->put_back(true);
        }
    }
    unmake_parents(written());
}

protocol::PatchedFile PatchTarget::result() const
{
    using protocol::PatchAction;
    protocol::PatchedFile file;
    file.path = path_;
    file.moved_to = destination_path_;
    file.action = entry_.kind == Kind::add      ? PatchAction::add
                  : entry_.kind == Kind::remove ? PatchAction::remove
                  : destination_                ? PatchAction::move
                                                : PatchAction::update;
    file.hunks = entry_.hunks.size();
    file.tolerated = names_of(through_);
    if (document_) {
        file.size = document_->size();
        file.sha256 = put_ ? sha256_ : hash_of(*document_);
    }
    return file;
}

} // namespace berth::guest

#include "sandbox/guest/files/patch_target.hpp"

#include "sandbox/base/error.hpp"
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
                    printable(whole) + " is a symbolic link, and a patch removes and moves files",
                    "remove or rename the link in bash_exec, or name the file that it leads to");
    }
}

void require_absent(const WriteTarget& target)
{
    if (target.exists()) {
        throw Error(Error(ErrorCode::conflict, printable(target.path()) + " exists already",
                          "say *** Update File to change it, or delete it first")
                        .set_retryable(false));
    }
}

bool is_same(const struct stat& a, const struct stat& b) noexcept
{
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
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
        require_editable_size(static_cast<std::uint64_t>(source.status.st_size), max_size, path_);
        original_ = open_for_reading(source);
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
        require_narrow(original_.get(), source);
        through_ = apply_hunks(entry_, *document_);
        binary_ = facts_of(*document_).binary;
    }
    require_editable_size(document_->size(), max_size, path_);
}

void PatchTarget::prepare()
{
    const WriteTarget& source = source_.target;
    if (source.exists()) {
        backup_.emplace(source.directory.get(), source.directory_path, 0600);
        copy_content(original_.get(), backup_->fd(),
                     static_cast<std::uint64_t>(source.status.st_size), path_, context_);
    }
    if (!document_) {
        return;
    }
    make_parents(written(), context_);
    replacement_.emplace(
        written(), Replacement::Options{.mode = destination_ ? std::optional(source.status.st_mode)
                                                             : std::nullopt,
                                        .exclusive = true,
                                        .only_unchanged = true});
    DocumentReader reader(*document_);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        replacement_->write(piece);
    }
}

void PatchTarget::put()
{
    if (replacement_) {
        sha256_ = replacement_->commit(context_);
        put_ = true;
    }
}

void PatchTarget::remove()
{
    if (!goes()) {
        return;
    }
    const WriteTarget& source = source_.target;
    struct stat now = {};
    if (::fstatat(source.directory.get(), source.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        !is_same(now, source.status)) {
        throw Error(ErrorCode::conflict,
                    printable(path_) + " was changed by a command at the same time",
                    "read it again, then repeat the change");
    }
    if (::unlinkat(source.directory.get(), source.name.c_str(), 0) != 0) {
        throw_write_error(errno, source.directory.get(), "delete " + printable(path_));
    }
    removed_ = true;
}

void PatchTarget::put_back(const CallContext& unstoppable)
{
    const WriteTarget target = find_write_target(path_, unstoppable);
    Replacement old(
        target,
        {.mode = source_.target.status.st_mode, .exclusive = removed_, .only_unchanged = false});
    PieceReader reader(backup_->fd(), 0, static_cast<std::uint64_t>(source_.target.status.st_size),
                       path_, unstoppable);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        old.write(piece);
    }
    static_cast<void>(old.commit(unstoppable));
}

void PatchTarget::undo(const CallContext& unstoppable)
{
    const bool own_place = put_ && !destination_ && source_.target.exists();
    if (own_place || removed_) {
        put_back(unstoppable);
    }
    if (put_ && !own_place) {
        static_cast<void>(
            ::unlinkat(written().directory.get(), written().name.c_str(), 0)); // one that is new
    }
    put_ = false;
    removed_ = false;
    replacement_.reset();
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

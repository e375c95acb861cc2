#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/workspace/footer.hpp"
#include "sandbox/workspace/stored_file.hpp"
#include "sandbox/workspace/tree.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

[[noreturn]] void refuse_existing(const std::string& path)
{
    throw Error(ErrorCode::conflict, "'" + path + "' exists in the workspace",
                "set overwrite to true or choose another path");
}

[[noreturn]] void refuse_folder(const std::string& path)
{
    throw Error(ErrorCode::conflict, "'" + path + "' in the workspace is a folder with files in it",
                "choose a path inside it or another name");
}

/// Before the content travels; commit() decides again, since others write meanwhile.
void check_early(int files, const std::string& path, bool overwrite)
{
    struct stat status{};
    const UniqueFd there = open_below(files, path, O_PATH | O_NOFOLLOW);
    if (!there || ::fstat(there.get(), &status) != 0) {
        return;
    }
    if (S_ISDIR(status.st_mode)) {
        if (!files_below(files, path).empty()) {
            refuse_folder(path);
        }
    } else if (!overwrite) {
        refuse_existing(path);
    }
}

} // namespace

StoredWriter::StoredWriter(std::shared_ptr<const Area> area, std::string path, std::uint32_t mode,
                           bool overwrite)
    : area_(std::move(area)), overwrite_(overwrite), temporary_name_(random_hex(16))
{
    (void)split(path);
    check_early(area_->files.get(), path, overwrite);
    entry_.path = std::move(path);
    entry_.mode = mode & 0777U;
    fd_.reset(::openat(area_->temporary.get(), temporary_name_.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd_) {
        throw errno_error(errno, "write to the workspace");
    }
}

StoredWriter::~StoredWriter()
{
    if (!temporary_name_.empty()) {
        ::unlinkat(area_->temporary.get(), temporary_name_.c_str(), 0);
    }
}

void StoredWriter::append(std::string_view bytes)
{
    try {
        write_full(fd_.get(), bytes);
    } catch (const std::system_error& error) {
        throw errno_error(error.code().value(), "write " + entry_.path + " to the workspace");
    }
}

void StoredWriter::write(std::string_view bytes)
{
    append(bytes);
    hash_.update(bytes);
    entry_.size += bytes.size();
}

/// One attempt to give the file its name. False: the folder was pruned, or a hollow folder of that
/// name was removed; try again.
bool StoredWriter::place(int folder, const std::string& name)
{
    const unsigned flags = overwrite_ ? 0U : static_cast<unsigned>(RENAME_NOREPLACE);
    if (::renameat2(area_->temporary.get(), temporary_name_.c_str(), folder, name.c_str(), flags) ==
        0) {
        return true;
    }
    const int error = errno;
    if (error == ENOENT) {
        return false;
    }
    struct stat status{};
    const bool is_folder = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                           S_ISDIR(status.st_mode);
    if (is_folder) {
        if (!remove_hollow(folder, name)) {
            refuse_folder(entry_.path);
        }
        return false;
    }
    if (error == EEXIST) {
        refuse_existing(entry_.path);
    }
    throw errno_error(error, "place " + entry_.path + " in the workspace");
}

void StoredWriter::seal()
{
    if (!fd_) {
        return;
    }
    entry_.sha256 = hash_.finish();
    append(encode({entry_.sha256, entry_.mode}));
    // Content before name: after a power loss the name must never lead to an empty file.
    if (::fsync(fd_.get()) != 0) {
        throw errno_error(errno, "flush " + entry_.path + " to the workspace's disk");
    }
    entry_.modified = read_entry(fd_.get(), entry_.path).modified;
    fd_.reset();
}

Entry StoredWriter::commit()
{
    seal();
    const auto [folder_path, name] = split(entry_.path);
    // Each failed round means that another caller changed the tree in between.
    for (int round = 0; round < 1000; ++round) {
        const UniqueFd folder = open_or_make_folder(area_->files.get(), folder_path);
        if (folder && place(folder.get(), name)) {
            temporary_name_.clear();
            if (::fsync(folder.get()) != 0) {
                throw errno_error(errno, "flush " + folder_path + " to the workspace's disk");
            }
            return entry_;
        }
    }
    throw Error(ErrorCode::busy, "the workspace changed too often to place '" + entry_.path + "'",
                "try again");
}

} // namespace berth::workspace

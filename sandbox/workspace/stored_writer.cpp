#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/workspace/footer.hpp"
#include "sandbox/workspace/publish.hpp"
#include "sandbox/workspace/store_error.hpp"
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

/// Before the content travels; publish() decides again, since others write meanwhile.
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

StoredWriter::StoredWriter(std::shared_ptr<const WriterArea> area, std::string path,
                           std::uint32_t mode, bool overwrite)
    : area_(std::move(area)), overwrite_(overwrite), temporary_name_(area_->new_name())
{
    (void)split(path);
    check_early(area_->area().files.get(), path, overwrite);
    entry_.path = std::move(path);
    entry_.mode = mode & 0777U;
    fd_.reset(::openat(area_->area().temporary.get(), temporary_name_.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd_) {
        throw saving_error(errno, "write to the workspace");
    }
}

StoredWriter::~StoredWriter()
{
    if (!temporary_name_.empty()) {
        ::unlinkat(area_->area().temporary.get(), temporary_name_.c_str(), 0);
    }
}

void StoredWriter::append(std::string_view bytes)
{
    try {
        write_full(fd_.get(), bytes);
    } catch (const std::system_error& error) {
        throw store_error(error.code().value(),
                          "write " + visible(entry_.path) + " to the workspace");
    }
}

void StoredWriter::write(std::string_view bytes)
{
    append(bytes);
    hash_.update(bytes);
    entry_.size += bytes.size();
}

void StoredWriter::seal()
{
    if (!fd_) {
        return;
    }
    entry_.sha256 = hash_.finish();
    append(encode({entry_.sha256, entry_.mode}));
    entry_.modified = read_entry(fd_.get(), entry_.path).modified;
    fd_.reset();
}

Entry StoredWriter::commit()
{
    publish({this}, {});
    return entry_;
}

} // namespace berth::workspace

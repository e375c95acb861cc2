#include "sandbox/guest/exec/spill.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

std::string reason(int error)
{
    return std::generic_category().message(error);
}

void make_directories(const std::string& path)
{
    for (auto slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
        ::mkdir(path.substr(0, slash).c_str(), 0700);
    }
    ::mkdir(path.c_str(), 0700);
}

} // namespace

SpillFile::~SpillFile()
{
    close();
}

void SpillFile::write(std::string_view data)
{
    if (!fd_) {
        return;
    }
    std::uint64_t allowed = data.size();
    if (store_.stream_limit_ != 0) {
        allowed = std::min(allowed, store_.stream_limit_ - bytes_);
    }
    allowed = store_.make_room(allowed);
    std::string_view rest = data.substr(0, allowed);
    while (!rest.empty()) {
        const ssize_t size = ::write(fd_.get(), rest.data(), rest.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            fail("write " + path_ + ": " + reason(size < 0 ? errno : ENOSPC));
            return;
        }
        const auto written = static_cast<std::uint64_t>(size);
        rest.remove_prefix(written);
        bytes_ += written;
        entry_->bytes += written;
        store_.total_ += written;
    }
    if (allowed < data.size()) {
        fail(
            (bytes_ == 0 ? "" : "the file holds the first " + std::to_string(bytes_) + " bytes: ") +
            std::string(store_.stream_limit_ != 0 && bytes_ == store_.stream_limit_
                            ? "limit of a stream"
                            : "limit of the session"));
    }
}

void SpillFile::fail(std::string error) noexcept
{
    error_ = std::move(error);
    close();
}

void SpillFile::check() noexcept
{
    struct stat own = {};
    if (!fd_ || ::fstat(fd_.get(), &own) != 0) {
        return;
    }
    struct stat there = {};
    const bool found = ::lstat(path_.c_str(), &there) == 0 && there.st_ino == own.st_ino &&
                       there.st_dev == own.st_dev;
    const auto size = static_cast<std::uint64_t>(own.st_size);
    if (!found) {
        error_ = "a command deleted or replaced " + path_;
        path_.clear();
        bytes_ = 0;
        changed_ = true;
        release();
    } else if (size != bytes_) {
        error_ = size < bytes_ ? "a command cut the file" : "a command wrote to the file";
        bytes_ = std::min(bytes_, size);
        changed_ = true;
        release();
    }
}

UniqueFd SpillFile::reopen() const
{
    const UniqueFd directory = path_.empty() ? UniqueFd() : store_.open_directory();
    if (!directory) {
        return {};
    }
    // A FIFO or a link that a command put in its place leads nowhere.
    UniqueFd file(::openat(directory.get(), path_.substr(path_.rfind('/') + 1).c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat there = {};
    if (!file || ::fstat(file.get(), &there) != 0 || there.st_ino != inode_ ||
        there.st_dev != device_) {
        return {};
    }
    return file;
}

std::string SpillFile::read(std::uint64_t offset, std::size_t size) const
{
    const UniqueFd opened = fd_ ? UniqueFd() : reopen();
    const int fd = fd_ ? fd_.get() : opened.get();
    std::string bytes;
    struct stat now = {};
    if (fd < 0 || changed_ || ::fstat(fd, &now) != 0 ||
        static_cast<std::uint64_t>(now.st_size) != bytes_) {
        return bytes;
    }
    bytes.resize(size);
    std::size_t filled = 0;
    while (filled < size) {
        const ssize_t got =
            ::pread(fd, bytes.data() + filled, size - filled, static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        filled += static_cast<std::size_t>(got);
    }
    bytes.resize(filled);
    return bytes;
}

void SpillFile::close() noexcept
{
    check();
    release();
}

void SpillFile::release() noexcept
{
    fd_.reset();
    if (listed_) {
        entry_->open = false;
        listed_ = false;
    }
}

SpillStore::SpillStore(std::string directory, std::uint64_t stream_limit,
                       std::uint64_t session_limit)
    : directory_(std::move(directory)), stream_limit_(stream_limit), session_limit_(session_limit)
{
}

UniqueFd SpillStore::open_directory() const
{
    // Opened anew each time: a command may have removed it. O_NOFOLLOW: one that it replaced by a
    // symlink would send the output somewhere else in the sandbox.
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd directory(::open(directory_.c_str(), flags));
    if (!directory && errno == ENOENT) {
        make_directories(directory_);
        directory.reset(::open(directory_.c_str(), flags));
    }
    return directory;
}

std::unique_ptr<SpillFile> SpillStore::create(std::string_view stream)
{
    // The constructor is the store's alone.
    std::unique_ptr<SpillFile> file(new SpillFile(*this));
    if (directory_.empty()) {
        file->error_ = "no directory for whole outputs is configured";
        return file;
    }
    const UniqueFd directory = open_directory();
    if (!directory) {
        file->error_ = "open " + directory_ + ": " + reason(errno);
        return file;
    }
    // Names that are taken (an earlier guest's files, or a trap: a FIFO would block the guest for
    // ever, a link lead away) are passed over. O_EXCL makes sure that the file is new and regular.
    for (int attempts = 0; attempts < 1000; ++attempts) {
        const std::string name = std::to_string(next_++) + "." + std::string(stream);
        // O_APPEND: in a file that a command has cut the beginning is then missing, and seen to be.
        const int fd =
            ::openat(directory.get(), name.c_str(),
                     O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0) {
            file->fd_.reset(fd);
            file->path_ = directory_ + "/" + name;
            file->entry_ = entries_.insert(entries_.end(), {name, 0, true});
            file->listed_ = true;
            struct stat own = {};
            if (::fstat(fd, &own) == 0) {
                file->device_ = own.st_dev;
                file->inode_ = own.st_ino;
            }
            return file;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    file->error_ = "create a file in " + directory_ + ": " + reason(errno);
    return file;
}

void SpillStore::remove(const SpillFile& file)
{
    const std::string name = file.path_.substr(file.path_.rfind('/') + 1);
    const auto entry = std::ranges::find_if(entries_, [&](const SpillFile::Entry& candidate) {
        return !candidate.open && candidate.name == name;
    });
    if (entry == entries_.end()) {
        return;
    }
    if (const UniqueFd directory = open_directory()) {
        ::unlinkat(directory.get(), name.c_str(), 0);
    }
    total_ -= entry->bytes;
    entries_.erase(entry);
}

std::uint64_t SpillStore::make_room(std::uint64_t wanted)
{
    if (session_limit_ == 0 || total_ + wanted <= session_limit_) {
        return wanted;
    }
    const UniqueFd directory = open_directory();
    for (auto entry = entries_.begin();
         entry != entries_.end() && total_ + wanted > session_limit_;) {
        if (entry->open) {
            ++entry;
            continue;
        }
        if (directory) {
            ::unlinkat(directory.get(), entry->name.c_str(), 0);
        }
        total_ -= entry->bytes;
        entry = entries_.erase(entry);
    }
    return std::min(wanted, session_limit_ - std::min(total_, session_limit_));
}

} // namespace berth::guest

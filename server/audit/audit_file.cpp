#include "server/audit/audit_file.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/file_lock.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::server {
namespace {

/// For another server's line. One that is stopped in the middle of it holds up nobody for long.
constexpr std::chrono::milliseconds lock_time{100};
/// Whoever had it so long has it longer: the lines behind that one do not wait, or they would come
/// one by one, so few in a second that answers wait for threads, and the last would be lost.
constexpr std::chrono::seconds impatience{10};

[[noreturn]] void refuse_file(const std::string& path, const std::string& why,
                              const std::string& hint)
{
    throw Error(ErrorCode::invalid_argument, "the audit log " + path + ' ' + why, hint);
}

/// To be read too (`is_torn`), where it may be: a policy may let this server append alone.
UniqueFd open_named(const std::string& path)
{
    constexpr int how = O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    UniqueFd file(::open(path.c_str(), O_RDWR | how, 0600));
    return file || (errno != EACCES && errno != EPERM)
               ? std::move(file)
               : UniqueFd(::open(path.c_str(), O_WRONLY | how, 0600));
}

/// Whoever else can write it can say what was never done, and whoever puts a FIFO there holds up
/// every call.
UniqueFd open_log(const std::string& path)
{
    UniqueFd file = open_named(path);
    if (!file) {
        refuse_file(path, "cannot be opened: " + std::generic_category().message(errno),
                    "Name a file, no link, in a folder that this server may write to.");
    }
    struct stat status{};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
        refuse_file(path, "is no ordinary file with one name", "Name another one.");
    }
    if (status.st_uid != ::geteuid()) {
        refuse_file(path, "is another user's", "Name one of this server's own user.");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        refuse_file(path, "may be written to by others than its owner", "chmod go-w " + path);
    }
    return file;
}

/// A machine that lost its power has left a line without its end, with which the next would be one
/// that no reader can take apart.
bool is_torn(int file)
{
    struct stat status{};
    char last = '\n';
    return ::fstat(file, &status) == 0 && status.st_size > 0 &&
           ::pread(file, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

/// Writes it whole; else what was written of it is taken back, as far as nobody can have written
/// behind it.
void write_line(int file, std::string_view line, bool locked)
{
    const auto before = ::lseek(file, 0, SEEK_END);
    ssize_t written = 0;
    do {
        written = ::write(file, line.data(), line.size());
    } while (written < 0 && errno == EINTR);
    if (written == static_cast<ssize_t>(line.size())) {
        return;
    }
    const int error = written < 0 ? errno : ENOSPC;
    // Others may have written without the lock.
    struct stat status{};
    if (written > 0 && locked && before >= 0 && ::fstat(file, &status) == 0 &&
        status.st_size == before + written) {
        [[maybe_unused]] const int cut = ::ftruncate(file, before);
    }
    throw std::system_error(error, std::generic_category(), "the audit log");
}

} // namespace

AuditFile::AuditFile(std::string path) : path_(std::move(path)), file_(open_log(path_)) {}

/// To the file that has the name now.
void AuditFile::follow()
{
    struct stat named{};
    struct stat open{};
    const bool is_same = ::lstat(path_.c_str(), &named) == 0 && ::fstat(file_.get(), &open) == 0 &&
                         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
    if (!is_same) {
        file_ = open_log(path_);
    }
}

/// A line needs it only to be taken back where it does not fit: one write with O_APPEND is whole.
bool AuditFile::take_lock()
{
    const auto now = std::chrono::steady_clock::now();
    const auto patience = now < impatient_until_ ? std::chrono::milliseconds(0) : lock_time;
    const bool locked = flock_until(file_.get(), LOCK_EX, Deadline::after(patience));
    if (!locked && patience == lock_time) {
        impatient_until_ = std::chrono::steady_clock::now() + impatience;
    }
    return locked;
}

void AuditFile::append(std::string_view line)
{
    std::string whole(line);
    whole += '\n';
    const std::lock_guard lock(mutex_);
    follow();
    const bool locked = take_lock();
    if (locked && is_torn(file_.get())) {
        whole.insert(whole.begin(), '\n');
    }
    try {
        write_line(file_.get(), whole, locked);
    } catch (...) {
        (void)::flock(file_.get(), LOCK_UN);
        throw;
    }
    (void)::flock(file_.get(), LOCK_UN);
}

} // namespace berth::server

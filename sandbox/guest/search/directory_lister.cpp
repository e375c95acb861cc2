#include "sandbox/guest/search/directory_lister.hpp"

#include <cstddef>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace berth::guest::search {

namespace {

constexpr std::size_t buffer_size = 32U << 10;
constexpr std::size_t max_entries = 16U << 10;

EntryType type_of(int dirfd, const dirent64& entry)
{
    switch (entry.d_type) {
    case DT_REG:
        return EntryType::file;
    case DT_DIR:
        return EntryType::directory;
    case DT_LNK:
        return EntryType::symlink;
    case DT_UNKNOWN:
        break;
    default:
        return EntryType::other;
    }
    // Some file systems do not say.
    struct stat status{};
    if (::fstatat(dirfd, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return EntryType::other;
    }
    if (S_ISREG(status.st_mode)) {
        return EntryType::file;
    }
    if (S_ISDIR(status.st_mode)) {
        return EntryType::directory;
    }
    return S_ISLNK(status.st_mode) ? EntryType::symlink : EntryType::other;
}

} // namespace

DirectoryLister::DirectoryLister() : buffer_(buffer_size) {}

void DirectoryLister::parse(int fd, std::size_t size)
{
    for (std::size_t at = 0; at < size;) {
        // getdents64 aligns its records; the buffer comes from operator new.
        const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at);
        at += entry->d_reclen;
        const std::string_view name(entry->d_name);
        if (name == "." || name == "..") {
            continue;
        }
        entries_.push_back({.name = names_.size(), .type = type_of(fd, *entry)});
        names_.append(name).push_back('\0');
    }
}

bool DirectoryLister::read_some(int fd)
{
    entries_.clear();
    names_.clear();
    complete_ = false;
    while (entries_.size() < max_entries) {
        const ssize_t got = ::getdents64(fd, buffer_.data(), buffer_.size());
        if (got <= 0) {
            complete_ = true;
            return got == 0;
        }
        parse(fd, static_cast<std::size_t>(got));
    }
    return true;
}

} // namespace berth::guest::search

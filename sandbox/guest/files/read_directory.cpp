#include "sandbox/guest/files/read_directory.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/protocol/listing.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

std::string type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "directory";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

protocol::DirectoryEntry describe(int directory, std::string name)
{
    protocol::DirectoryEntry entry;
    entry.name = std::move(name);
    struct stat status = {};
    if (::fstatat(directory, entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return entry; // gone since it was listed
    }
    entry.type = type_name(status.st_mode);
    entry.size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
    if (S_ISLNK(status.st_mode)) {
        std::array<char, PATH_MAX> target;
        const ssize_t size =
            ::readlinkat(directory, entry.name.c_str(), target.data(), target.size());
        entry.target.assign(target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }
    return entry;
}

/// Keeps the first `wanted` of the names that pass by, in order.
class FirstNames {
  public:
    explicit FirstNames(std::size_t wanted) : wanted_(wanted) {}

    void add(std::string_view name)
    {
        ++total_;
        names_.emplace_back(name);
        if (names_.size() >= 2 * wanted_ + 1024) {
            std::nth_element(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(wanted_),
                             names_.end());
            names_.resize(wanted_);
        }
    }

    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

    [[nodiscard]] std::vector<std::string> take()
    {
        std::sort(names_.begin(), names_.end());
        names_.resize(std::min(names_.size(), wanted_));
        return std::move(names_);
    }

  private:
    std::size_t wanted_;
    std::uint64_t total_ = 0;
    std::vector<std::string> names_;
};

} // namespace

protocol::ReadFileReply read_directory(Opened directory, const protocol::ReadFileRequest& request,
                                       const CallContext& context)
{
    constexpr std::uint64_t most = protocol::max_listed_entries;
    const std::uint64_t offset = std::min(request.offset, most);
    const std::uint64_t end = offset + std::min(request.limit, most - offset);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.fd.get()), &::closedir);
    if (!stream) {
        throw errno_error(errno, "list " + printable(directory.path));
    }
    const int fd = directory.fd.release(); // closedir closes it
    FirstNames names(static_cast<std::size_t>(end));
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(stream.get());
        if (entry == nullptr) {
            if (errno != 0) {
                throw errno_error(errno, "list " + printable(directory.path));
            }
            break;
        }
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") {
            names.add(name);
        }
        if (names.total() % 1024 == 0) {
            throw_if_stopped(context);
        }
    }
    protocol::ReadFileReply reply;
    reply.path = std::move(directory.path);
    reply.kind = protocol::FileKind::directory;
    reply.total_entries = names.total();
    auto wanted = names.take();
    for (std::size_t i = static_cast<std::size_t>(offset); i < wanted.size(); ++i) {
        reply.entries.push_back(describe(fd, std::move(wanted[i])));
    }
    if (request.offset + reply.entries.size() < reply.total_entries) {
        reply.truncated_by = "limit";
    }
    return reply;
}

} // namespace berth::guest

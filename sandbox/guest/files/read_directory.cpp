#include "sandbox/guest/files/read_directory.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/protocol/listing.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
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

/// Keeps the first `wanted` of the names that pass by, in the order of `Before`.
template <class Before>
class FirstNames {
  public:
    explicit FirstNames(std::size_t wanted) : wanted_(wanted) {}

    void add(std::string_view name)
    {
        ++total_;
        names_.emplace_back(name);
        if (names_.size() >= 2 * wanted_ + 1024) {
            std::nth_element(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(wanted_),
                             names_.end(), Before());
            names_.resize(wanted_);
        }
    }

    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

    [[nodiscard]] std::vector<std::string> take()
    {
        std::sort(names_.begin(), names_.end(), Before());
        names_.resize(std::min(names_.size(), wanted_));
        return std::move(names_);
    }

  private:
    std::size_t wanted_;
    std::uint64_t total_ = 0;
    std::vector<std::string> names_;
};

/// Feeds the names of all entries to `names`.
template <class Names>
void list_names(DIR* stream, const std::string& path, Names& names, const CallContext& context)
{
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(stream);
        if (entry == nullptr) {
            if (errno != 0) {
                throw errno_error(errno, "list " + visible(path));
            }
            return;
        }
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") {
            names.add(name);
        }
        if (names.total() % 1024 == 0) {
            throw_if_stopped(context);
        }
    }
}

/// The names that are asked for, and how many there are before them and in all.
struct Names {
    std::vector<std::string> wanted;
    std::uint64_t skipped = 0;
    std::uint64_t total = 0;
};

Names names_from_begin(DIR* stream, const std::string& path,
                       const protocol::ReadFileRequest& request, const CallContext& context)
{
    constexpr std::uint64_t most = protocol::max_listed_entries;
    const std::uint64_t offset = std::min(request.offset, most);
    const std::uint64_t end = offset + std::min(request.limit, most - offset);
    FirstNames<std::less<>> names(static_cast<std::size_t>(end));
    list_names(stream, path, names, context);
    auto first = names.take();
    const auto skipped = std::min<std::size_t>(static_cast<std::size_t>(offset), first.size());
    first.erase(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(skipped));
    return {std::move(first), request.offset, names.total()};
}

Names names_from_end(DIR* stream, const std::string& path, const protocol::ReadFileRequest& request,
                     const CallContext& context)
{
    FirstNames<std::greater<>> names(
        static_cast<std::size_t>(std::min(request.from_end, protocol::max_listed_entries)));
    list_names(stream, path, names, context);
    auto last = names.take();
    std::reverse(last.begin(), last.end());
    const std::uint64_t skipped = names.total() - last.size();
    last.resize(static_cast<std::size_t>(std::min<std::uint64_t>(last.size(), request.limit)));
    return {std::move(last), skipped, names.total()};
}

} // namespace

protocol::ReadFileReply read_directory(Opened directory, const protocol::ReadFileRequest& request,
                                       const CallContext& context)
{
    const auto stream = stream_of(std::move(directory.fd));
    if (!stream) {
        throw errno_error(errno, "list " + visible(directory.path));
    }
    const int fd = ::dirfd(stream.get());
    Names names = request.from_end > 0
                      ? names_from_end(stream.get(), directory.path, request, context)
                      : names_from_begin(stream.get(), directory.path, request, context);
    protocol::ReadFileReply reply;
    reply.path = std::move(directory.path);
    reply.kind = protocol::FileKind::directory;
    reply.skipped = names.skipped;
    reply.total_entries = names.total;
    for (auto& name : names.wanted) {
        reply.entries.push_back(describe(fd, std::move(name)));
    }
    if (reply.skipped + reply.entries.size() < reply.total_entries) {
        reply.truncated_by = "limit";
    }
    return reply;
}

} // namespace berth::guest

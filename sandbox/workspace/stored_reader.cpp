#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/base/wall_time.hpp"
#include "sandbox/workspace/footer.hpp"
#include "sandbox/workspace/store_error.hpp"
#include "sandbox/workspace/stored_file.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

[[noreturn]] void refuse_damaged(const std::string& path)
{
    throw Error(ErrorCode::backend_error,
                "the workspace's copy of '" + visible(path) +
                    "' is damaged: its checksum does not match",
                "save the file again, or delete it from the workspace");
}

} // namespace

Entry read_entry(int fd, std::string path)
{
    Entry entry;
    entry.path = std::move(path);
    struct stat status{};
    if (::fstat(fd, &status) != 0) {
        throw store_error(errno, "look at " + visible(entry.path) + " in the workspace");
    }
    entry.modified = rfc3339(std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec));
    const auto size = static_cast<std::uint64_t>(status.st_size);
    entry.size = size;
    std::array<char, footer_size> bytes{};
    if (size < footer_size ||
        ::pread(fd, bytes.data(), bytes.size(), status.st_size - static_cast<off_t>(footer_size)) !=
            static_cast<ssize_t>(footer_size)) {
        return entry;
    }
    if (auto footer = decode_footer({bytes.data(), bytes.size()})) {
        entry.size = size - footer_size;
        entry.sha256 = std::move(footer->sha256);
        entry.mode = footer->mode;
    }
    return entry;
}

StoredReader::StoredReader(UniqueFd fd, Entry entry)
    : fd_(std::move(fd)), entry_(std::move(entry)), remaining_(entry_.size)
{
    if (entry_.sha256.empty()) {
        refuse_damaged(entry_.path);
    }
}

std::string StoredReader::read(std::size_t most)
{
    std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(most, remaining_)), '\0');
    try {
        bytes.resize(read_full(fd_.get(), bytes.data(), bytes.size()));
    } catch (const std::system_error& error) {
        throw store_error(error.code().value(),
                          "read " + visible(entry_.path) + " from the workspace");
    }
    hash_.update(bytes);
    remaining_ -= bytes.size();
    // With the last piece, not after it: a caller who counts bytes does not ask once more.
    if (remaining_ == 0 || (bytes.empty() && most > 0)) {
        verify();
    }
    return bytes;
}

void StoredReader::verify()
{
    if (!verified_ && hash_.finish() != entry_.sha256) {
        refuse_damaged(entry_.path);
    }
    verified_ = true;
}

} // namespace berth::workspace

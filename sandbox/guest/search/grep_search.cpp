#include "sandbox/guest/search/grep_search.hpp"

#include "sandbox/base/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::guest::search {
namespace {

/// In nanoseconds; 0 where it cannot be told.
std::int64_t changed_at(int fd)
{
    constexpr std::int64_t second = 1'000'000'000;
    struct stat status{};
    return ::fstat(fd, &status) == 0 ? status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec : 0;
}

} // namespace

GrepSearch::GrepSearch(const Matcher& matcher, const CountOptions& options, bool by_file,
                       std::uint64_t wanted, unsigned threads, SearchLimits& limits,
                       bool newest_first)
    : matcher_(matcher), options_(options), by_file_(by_file), found_(wanted),
      newest_(newest_first ? std::make_unique<NewestFiles>(wanted) : nullptr)
{
    for (unsigned i = 0; i < threads; ++i) {
        readers_.push_back(std::make_unique<BlockReader>(limits));
    }
}

void GrepSearch::visit(unsigned thread, const WalkedFile& file)
{
    // The directory said "regular file"; O_NONBLOCK for the FIFO that has taken its place since.
    const UniqueFd fd(
        ::openat(file.dirfd, file.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (!fd) {
        totals_.unreadable.add(std::string(file.path));
        return;
    }
    search(thread, fd.get(), file.path);
}

void GrepSearch::search(unsigned thread, int fd, std::string_view path)
{
    FileCount count = count_matches(*readers_[thread], fd, matcher_, options_);
    switch (count.end) {
    case BlockReader::Status::end:
        ++totals_.searched;
        break;
    case BlockReader::Status::binary:
        ++totals_.binary;
        count.units = by_file_ ? 0 : count.units;
        break;
    case BlockReader::Status::failed:
        totals_.unreadable.add(std::string(path));
        break;
    case BlockReader::Status::large:
        ++totals_.large;
        break;
    case BlockReader::Status::slow:
        ++totals_.slow;
        break;
    case BlockReader::Status::block:
    case BlockReader::Status::stopped:
        break;
    }
    if (count.units > 0) {
        ++totals_.matched;
        totals_.units += count.units;
        if (newest_) {
            newest_->add(path, changed_at(fd));
        } else {
            found_.add(path, {.units = by_file_ ? 1 : count.units, .count = count.units});
        }
    }
}

} // namespace berth::guest::search

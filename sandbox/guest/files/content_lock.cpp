#include "sandbox/guest/files/content_lock.hpp"

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include <sys/stat.h>

namespace berth::guest {
namespace {

struct State {
    unsigned readers = 0;
    unsigned waiting_readers = 0;
    unsigned waiting_writers = 0;
    bool writing = false;

    [[nodiscard]] bool unused() const noexcept
    {
        return readers == 0 && waiting_readers == 0 && waiting_writers == 0 && !writing;
    }
};

struct Shard {
    std::mutex mutex;
    std::condition_variable_any released;
    std::map<std::pair<dev_t, ino_t>, State> files; ///< guarded by mutex; those in use
};

/// Several, since a search locks each file that it reads, with several threads.
Shard& shard_of(ino_t inode)
{
    static std::array<Shard, 16> shards;
    return shards[inode % shards.size()];
}

} // namespace

ContentLock::ContentLock(int fd, Kind kind, const std::stop_token& stop) : kind_(kind)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0) {
        return;
    }
    device_ = status.st_dev;
    inode_ = status.st_ino;
    Shard& shard = shard_of(inode_);
    std::unique_lock lock(shard.mutex);
    const auto file = shard.files.try_emplace({device_, inode_}).first;
    State& state = file->second;
    const bool shared = kind == Kind::shared;
    // A writer that waits goes before readers that come later: they might never leave a gap.
    const auto free = [&] {
        return !state.writing && (shared ? state.waiting_writers == 0 : state.readers == 0);
    };
    owns_ = free();
    if (!owns_) {
        unsigned& waiting = shared ? state.waiting_readers : state.waiting_writers;
        ++waiting;
        owns_ = shard.released.wait(lock, stop, free);
        --waiting;
    }
    if (owns_) {
        state.readers += shared ? 1U : 0U;
        state.writing = !shared;
        return;
    }
    if (state.unused()) {
        shard.files.erase(file);
    }
    shard.released.notify_all(); // readers may have waited for this writer only
}

void ContentLock::release() noexcept
{
    if (!std::exchange(owns_, false)) {
        return;
    }
    Shard& shard = shard_of(inode_);
    const std::lock_guard lock(shard.mutex);
    const auto file = shard.files.find({device_, inode_});
    State& state = file->second;
    if (kind_ == Kind::shared) {
        --state.readers;
    } else {
        state.writing = false;
    }
    if (state.unused()) {
        shard.files.erase(file);
    } else {
        shard.released.notify_all();
    }
}

ContentLock::ContentLock(ContentLock&& other) noexcept
    : device_(other.device_), inode_(other.inode_), kind_(other.kind_),
      owns_(std::exchange(other.owns_, false))
{
}

ContentLock& ContentLock::operator=(ContentLock&& other) noexcept
{
    if (this != &other) {
        release();
        device_ = other.device_;
        inode_ = other.inode_;
        kind_ = other.kind_;
        owns_ = std::exchange(other.owns_, false);
    }
    return *this;
}

ContentLock::~ContentLock()
{
    release();
}

} // namespace berth::guest

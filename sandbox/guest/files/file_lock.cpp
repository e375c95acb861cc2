#include "sandbox/guest/files/file_lock.hpp"

#include "sandbox/guest/files/stream.hpp"

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

namespace berth::guest {
namespace {

struct Held {
    std::mutex mutex;
    std::condition_variable_any released;
    std::set<std::string> keys; ///< guarded by mutex
};

Held& held()
{
    static Held instance;
    return instance;
}

void release(std::string& key) noexcept
{
    if (key.empty()) {
        return;
    }
    {
        const std::lock_guard lock(held().mutex);
        held().keys.erase(key);
    }
    held().released.notify_all();
    key.clear();
}

} // namespace

FileLock::FileLock(std::string key, const CallContext& context)
{
    std::unique_lock lock(held().mutex);
    held().released.wait(lock, context.stop, [&] { return !held().keys.contains(key); });
    throw_if_stopped(context);
    held().keys.insert(key);
    key_ = std::move(key);
}

FileLock::FileLock(FileLock&& other) noexcept : key_(std::exchange(other.key_, {})) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept
{
    if (this != &other) {
        release(key_);
        key_ = std::exchange(other.key_, {});
    }
    return *this;
}

FileLock::~FileLock()
{
    release(key_);
}

} // namespace berth::guest

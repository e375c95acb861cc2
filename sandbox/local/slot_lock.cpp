#include "sandbox/local/slot_lock.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/file_lock.hpp"

#include <chrono>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>

namespace berth::local {
namespace {

std::string folder_of(const std::string& v2_base, const V1Bases& v1)
{
    if (!v2_base.empty()) {
        return v2_base;
    }
    const auto bases = v1.directories();
    return bases.empty() ? "" : *bases.begin();
}

} // namespace

SlotLock::SlotLock(const std::string& v2_base, const V1Bases& v1)
    : folder_(::open(folder_of(v2_base, v1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
{
    try {
        if (folder_) {
            (void)flock_until(folder_.get(), LOCK_SH, Deadline::after(std::chrono::seconds(2)));
        }
    } catch (const std::system_error&) {
        folder_.reset(); // of a file system without locks there is none for who clears up either
    }
}

SlotLock::~SlotLock()
{
    if (folder_) {
        (void)::flock(folder_.get(), LOCK_UN);
    }
}

bool SlotLock::take_alone() noexcept
{
    return folder_ && ::flock(folder_.get(), LOCK_EX | LOCK_NB) == 0;
}

} // namespace berth::local

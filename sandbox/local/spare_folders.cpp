#include "sandbox/local/spare_folders.hpp"

#include <exception>
#include <utility>

namespace berth::local {

std::unique_ptr<SpareFolder> SpareFolders::take()
{
    const std::lock_guard lock(mutex_);
    return std::move(next_);
}

void SpareFolders::give_back(std::unique_ptr<SpareFolder> used) noexcept
{
    try {
        const std::lock_guard lock(mutex_);
        if (used && !closed_) {
            used_.push_back(std::move(used));
        }
    } catch (const std::exception&) {
        return; // no memory: it is removed at once
    }
}

void SpareFolders::renew(int state) noexcept
{
    const std::lock_guard renewing(renewing_);
    std::vector<std::unique_ptr<SpareFolder>> used;
    bool missing = false;
    {
        const std::lock_guard lock(mutex_);
        used.swap(used_);
        missing = !next_ && !closed_;
    }
    used.clear();
    if (!missing) {
        return;
    }
    try {
        auto made = std::make_unique<SpareFolder>(state);
        const std::lock_guard lock(mutex_);
        next_ = std::move(made);
    } catch (const std::exception&) {
        return; // the machine's own folder will say what is wrong
    }
}

void SpareFolders::close() noexcept
{
    const std::lock_guard renewing(renewing_); // what it makes would be there after this
    std::unique_ptr<SpareFolder> next;
    std::vector<std::unique_ptr<SpareFolder>> used;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    next.swap(next_);
    used.swap(used_);
}

} // namespace berth::local

#include "sandbox/session/side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace berth::session {

void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work)
{
    constexpr std::size_t at_once = 32;
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure; // guarded by mutex
    const auto take = [&]() noexcept {
        for (auto i = next++; i < count; i = next++) {
            try {
                work(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
        }
    };
    std::vector<std::jthread> others;
    bool more = true;
    while (more && others.size() + 1 < std::min(count, at_once)) {
        try {
            others.emplace_back(take);
        } catch (const std::system_error&) {
            more = false; // those that there are, and this one, do it
        }
    }
    take();
    others.clear();
    if (failure) {
        std::rethrow_exception(failure);
    }
}

} // namespace berth::session

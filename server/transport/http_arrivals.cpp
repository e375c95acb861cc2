#include "server/transport/http_arrivals.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

namespace berth::transport {

bool HttpArrivals::break_longest() noexcept
{
    const std::lock_guard lock(mutex_);
    auto longest = staying_.end();
    std::ptrdiff_t most = 0;
    // Of some whose numbers are alike the one that is there for longest. They are a thousand at
    // most, of few senders, and this is seldom.
    for (auto each = staying_.begin(); each != staying_.end(); ++each) {
        const auto* const who = (*each)->who_;
        const auto is_his = [who](const Stay* stay) { return stay->who_ == who; };
        if (std::find_if(staying_.begin(), each, is_his) != each) {
            continue; // counted
        }
        if (const auto count = std::count_if(each, staying_.end(), is_his); count > most) {
            most = count;
            longest = each;
        }
    }
    if (longest == staying_.end()) {
        return false;
    }
    auto& stay = **longest;
    stay.broken_ = true;
    stay.place_ = staying_.end();
    staying_.erase(longest);
    stay.socket_.break_off(); // which wakes its thread, and waits for nothing
    return true;
}

HttpArrivals::Stay::Stay(HttpArrivals& all, HttpSocket& socket) : all_(all), socket_(socket)
{
    const std::lock_guard lock(all_.mutex_);
    place_ = all_.staying_.insert(all_.staying_.end(), this);
}

HttpArrivals::Stay::~Stay()
{
    (void)end();
}

void HttpArrivals::Stay::belongs_to(const void* who) noexcept
{
    const std::lock_guard lock(all_.mutex_);
    who_ = who;
}

bool HttpArrivals::Stay::end() noexcept
{
    const std::lock_guard lock(all_.mutex_);
    if (place_ != all_.staying_.end()) {
        all_.staying_.erase(place_);
        place_ = all_.staying_.end();
    }
    return !broken_;
}

void HttpArrivals::Stay::again() noexcept
{
    const std::lock_guard lock(all_.mutex_);
    if (place_ == all_.staying_.end() && !broken_) {
        try {
            place_ = all_.staying_.insert(all_.staying_.end(), this);
        } catch (const std::bad_alloc&) {
            return; // it keeps its place
        }
    }
}

bool HttpArrivals::Stay::is_broken() const noexcept
{
    const std::lock_guard lock(all_.mutex_);
    return broken_;
}

} // namespace berth::transport

#include "server/transport/http_room.hpp"

#include <algorithm>
#include <utility>

namespace berth::transport {

namespace {

/// Not added first, and taken back: to others there would be no room meanwhile, and who waits for
/// some asks again and again.
bool add_within(HttpRoom::Count& count, std::size_t bytes, std::size_t limit) noexcept
{
    auto now = count.load();
    do {
        if (now + bytes > limit) {
            return false;
        }
    } while (!count.compare_exchange_weak(now, now + bytes));
    return true;
}

} // namespace

HttpRoom::HttpRoom(std::shared_ptr<Count> all, std::shared_ptr<Count> account, Limits limits)
    : all_(std::move(all)), account_(std::move(account)), limits_(limits)
{
}

HttpRoom::~HttpRoom()
{
    give_back(held_);
}

bool HttpRoom::take(std::size_t bytes) noexcept
{
    if (account_ && !add_within(*account_, bytes, std::max(limits_.all / 4, limits_.body))) {
        return false;
    }
    if (!add_within(*all_, bytes, limits_.all)) {
        if (account_) {
            *account_ -= bytes;
        }
        return false;
    }
    held_ += bytes;
    return true;
}

void HttpRoom::give_back(std::size_t bytes) noexcept
{
    *all_ -= bytes;
    if (account_) {
        *account_ -= bytes;
    }
    held_ -= bytes;
}

} // namespace berth::transport

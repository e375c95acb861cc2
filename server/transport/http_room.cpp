#include "server/transport/http_room.hpp"

#include <algorithm>
#include <utility>

namespace berth::transport {

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
    const auto all = *all_ += bytes;
    const auto own = account_ ? * account_ += bytes : 0;
    held_ += bytes;
    const bool is_room = all <= limits_.all && own <= std::max(limits_.all / 4, limits_.body);
    if (!is_room) {
        give_back(bytes);
    }
    return is_room;
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

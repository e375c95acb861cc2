#include "server/rpc/questions.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace berth::rpc {

Questions::Questions() = default;
Questions::~Questions() = default;

Id Questions::open()
{
    const std::lock_guard lock(mutex_);
    Id id = "\"berth-" + std::to_string(++last_) + '"';
    open_.emplace(id, nullptr);
    return id;
}

void Questions::answer(Message&& response)
{
    {
        const std::lock_guard lock(mutex_);
        const auto found = open_.find(response.id);
        if (found == open_.end() || found->second) {
            return;
        }
        found->second = std::move(response.params);
    }
    answered_.notify_all();
}

std::optional<nlohmann::json> Questions::wait(const Id& id, const std::stop_token& stop,
                                              std::chrono::milliseconds patience)
{
    std::unique_lock lock(mutex_);
    const auto found = open_.find(id);
    answered_.wait_for(lock, stop, patience, [&] { return found->second != nullptr; });
    const auto answer = std::move(found->second);
    open_.erase(found);
    return answer ? std::optional(std::move(*answer)) : std::nullopt;
}

} // namespace berth::rpc

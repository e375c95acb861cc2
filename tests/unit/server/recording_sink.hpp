#pragma once

#include "server/rpc/sink.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace berth::test {

/// Keeps what was sent.
class RecordingSink final : public rpc::Sink {
  public:
    void send(std::string message) noexcept override
    {
        const std::lock_guard lock(mutex_);
        messages_.push_back(nlohmann::json::parse(message));
        changed_.notify_all();
    }

    bool offer(std::string message) noexcept override
    {
        if (!is_deaf) {
            send(std::move(message));
        }
        return !is_deaf;
    }

    std::atomic<bool> is_deaf = false; ///< takes nothing that may be left out

    /// The messages so far, once there are `count` of them or three seconds have passed.
    std::vector<nlohmann::json> wait(std::size_t count)
    {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::seconds(3), [&] { return messages_.size() >= count; });
        return messages_;
    }

    std::vector<nlohmann::json> take()
    {
        const std::lock_guard lock(mutex_);
        return std::exchange(messages_, {});
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<nlohmann::json> messages_;
};

} // namespace berth::test

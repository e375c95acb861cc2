#pragma once

#include "server/rpc/message.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

namespace berth::rpc {

/// What was asked of a peer that has not answered yet. Thread-safe.
class Questions {
  public:
    Questions();
    ~Questions();
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;

    /// The id of a new one; wait() must follow, which forgets it.
    [[nodiscard]] Id open();

    /// A response came. One that nobody waits for, or a second one, is dropped.
    void answer(Message&& response);

    /// An object whose member is `result` or `error`, as it was sent. Nothing: it did not come in
    /// that time, or until the stop.
    [[nodiscard]] std::optional<nlohmann::json> wait(const Id& id, const std::stop_token& stop,
                                                     std::chrono::milliseconds patience);

  private:
    std::mutex mutex_; ///< guards what follows
    std::condition_variable_any answered_;
    std::uint64_t last_ = 0;
    std::map<Id, std::unique_ptr<nlohmann::json>> open_; ///< null: no answer yet
};

} // namespace berth::rpc

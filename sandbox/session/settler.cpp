#include "sandbox/session/settler.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>

namespace berth::session {
namespace {

/// For a session's lock; and until the next try, where another has that or the books are away.
constexpr std::chrono::seconds settle_time{1};

} // namespace

/// Rung where something was read.
class Settler::Bell {
  public:
    void ring()
    {
        const std::lock_guard lock(mutex_);
        rung_ = true;
        changed_.notify_one();
    }

    /// `again`: no longer than a moment.
    void wait(const std::stop_token& stop, bool again)
    {
        std::unique_lock lock(mutex_);
        const auto is_rung = [&] { return rung_; };
        if (again) {
            changed_.wait_for(lock, stop, settle_time, is_rung);
        } else {
            changed_.wait(lock, stop, is_rung);
        }
        rung_ = false;
    }

  private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool rung_ = false;
};

Settler::Settler() : bell_(std::make_shared<Bell>()) {}

Settler::~Settler() = default;

void Settler::watch(const std::shared_ptr<Slot>& slot, const std::shared_ptr<Parts>& parts) noexcept
try {
    Untold taken;
    {
        const std::lock_guard lock(slot->mutex);
        taken = slot->taken;
    }
    if (!taken) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        watched_.emplace_back(slot, parts);
        if (!thread_.joinable()) {
            thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
        }
    }
    taken.when_read([bell = bell_] { bell->ring(); });
} catch (const std::exception&) {
    return; // no call shall fail for it
}

void Settler::stop() noexcept
{
    const std::lock_guard lock(mutex_);
    thread_.request_stop();
}

void Settler::run(const std::stop_token& stop)
{
    bool again = false;
    while (!stop.stop_requested()) {
        bell_->wait(stop, again);
        again = settle_what_is_read(stop);
    }
}

/// Whether some of it is left.
bool Settler::settle_what_is_read(const std::stop_token& stop)
{
    std::vector<Watched> watched;
    {
        const std::lock_guard lock(mutex_);
        watched.swap(watched_);
    }
    bool is_left = false;
    for (auto& each : watched) {
        const auto slot = each.first.lock();
        if (!slot) {
            continue;
        }
        if (!stop.stop_requested()) {
            slot->settle_told(each.second->keeper, Deadline::after(settle_time));
        }
        const std::lock_guard slot_lock(slot->mutex);
        if (slot->taken) { // else it is settled
            is_left = is_left || slot->taken.is_read();
            const std::lock_guard lock(mutex_);
            watched_.push_back(std::move(each));
        }
    }
    return is_left;
}

} // namespace berth::session

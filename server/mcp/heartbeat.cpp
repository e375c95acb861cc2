#include "server/mcp/heartbeat.hpp"

#include <stop_token>
#include <utility>

namespace berth::mcp {
namespace {

void send(rpc::Call& call, const std::string& token, const std::string& tool,
          std::chrono::steady_clock::duration running)
{
    // Tenths of a second: as much as a reader can use, and rising from beat to beat.
    const auto tenths =
        std::chrono::duration_cast<std::chrono::milliseconds>(running).count() / 100;
    const std::string seconds = std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10);
    call.notify("notifications/progress", R"({"progressToken":)" + token + R"(,"progress":)" +
                                              seconds + R"(,"message":")" + tool + " has run for " +
                                              seconds + R"( s"})");
}

} // namespace

Heartbeat::Heartbeat(std::chrono::milliseconds interval) : interval_(interval) {}

Heartbeat::~Heartbeat() = default;

Heartbeat::Beat::~Beat()
{
    const std::lock_guard lock(owner_.mutex_);
    owner_.entries_.erase(entry_);
}

std::unique_ptr<Heartbeat::Beat> Heartbeat::watch(const std::shared_ptr<rpc::Call>& call,
                                                  std::string token, std::string tool)
{
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.insert(entries_.end(), {.call = call,
                                                        .token = std::move(token),
                                                        .tool = std::move(tool),
                                                        .started = now,
                                                        .next = now + interval_});
    if (!thread_.joinable()) {
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    if (std::exchange(asleep_, false)) {
        changed_.notify_one();
    }
    return std::make_unique<Beat>(*this, entry);
}

void Heartbeat::run(const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        if (entries_.empty()) {
            asleep_ = true;
            changed_.wait(lock, stop, [this] { return !asleep_; });
            continue;
        }
        const auto first = entries_.begin();
        const auto now = Clock::now();
        if (const auto next = first->next; now < next) {
            changed_.wait_until(lock, stop, next, [] { return false; });
            continue;
        }
        first->next = now + interval_;
        const Entry due = *first; // the entry may go while the message is written
        entries_.splice(entries_.end(), entries_, first);
        lock.unlock();
        if (const auto call = due.call.lock()) {
            send(*call, due.token, due.tool, now - due.started);
        }
        lock.lock();
    }
}

} // namespace berth::mcp

#include "server/mcp/heartbeat.hpp"

#include "server/rpc/json_text.hpp"

#include <algorithm>
#include <iterator>
#include <stop_token>
#include <utility>

namespace berth::mcp {
namespace {

std::string with_point(std::int64_t tenths)
{
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10);
}

bool send(rpc::Call& call, const std::string& token, std::int64_t tenths,
          const std::string& message)
{
    std::string params =
        R"({"progressToken":)" + token + R"(,"progress":)" + with_point(tenths) + R"(,"message":)";
    rpc::append_quoted(params, message);
    return call.notify("notifications/progress", params + '}');
}

} // namespace

Heartbeat::Heartbeat(std::chrono::milliseconds interval, std::chrono::milliseconds apart)
    : interval_(interval), apart_(apart)
{
}

Heartbeat::~Heartbeat() = default;

Heartbeat::Beat::~Beat()
{
    const std::lock_guard lock(owner_.mutex_);
    owner_.entries_.erase(entry_->self);
    entry_->ended = true;
}

void Heartbeat::Beat::say(std::string message)
{
    const std::lock_guard lock(owner_.mutex_);
    entry_->message = std::move(message);
    if (std::exchange(entry_->news, true)) {
        return;
    }
    const auto next = std::max(Clock::now(), entry_->told + owner_.apart_);
    if (next < entry_->next) {
        owner_.place(*entry_, next);
        owner_.wake_for(next);
    }
}

std::unique_ptr<Heartbeat::Beat> Heartbeat::watch(const std::shared_ptr<rpc::Call>& call,
                                                  std::string token, std::string tool)
{
    const auto now = Clock::now();
    auto entry = std::make_shared<Entry>(Entry{.call = call,
                                               .token = std::move(token),
                                               .tool = std::move(tool),
                                               .started = now,
                                               .told = now});
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) { // first: where none can be had, no entry is left without its beat
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    entry->self = entries_.insert(entries_.end(), entry);
    place(*entry, now + interval_);
    wake_for(entry->next);
    return std::make_unique<Beat>(*this, std::move(entry));
}

void Heartbeat::place(Entry& entry, Clock::time_point next)
{
    Entries moved;
    moved.splice(moved.end(), entries_, entry.self);
    entry.next = next;
    auto at = entries_.end();
    while (at != entries_.begin() && (*std::prev(at))->next > next) {
        --at;
    }
    entries_.splice(at, moved);
}

void Heartbeat::wake_for(Clock::time_point next)
{
    if (next < wakes_) {
        wakes_ = next;
        changed_.notify_one();
    }
}

void Heartbeat::run(const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto next = entries_.empty() ? Clock::time_point::max() : entries_.front()->next;
        if (next <= Clock::now()) {
            const auto entry = entries_.front(); // the call may end while the message is written
            tell(*entry, lock);
            continue;
        }
        wakes_ = next;
        const auto woken = [&] { return wakes_ < next; };
        if (next == Clock::time_point::max()) {
            changed_.wait(lock, stop, woken);
        } else {
            changed_.wait_until(lock, stop, next, woken);
        }
    }
}

void Heartbeat::tell(Entry& entry, std::unique_lock<std::mutex>& lock)
{
    const auto now = Clock::now();
    // Tenths of a second: as much as a reader can use, and rising from one to the next.
    const auto tenths = std::max<std::int64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now - entry.started).count() / 100,
        entry.tenths + 1);
    const bool news = std::exchange(entry.news, false);
    std::string message = entry.message;
    if (!news) {
        const auto time = entry.tool + " has run for " + with_point(tenths) + " s";
        message += message.empty() ? time : "\n[" + time + "]";
    }
    lock.unlock();
    auto call = entry.call.lock();
    const bool told = call && send(*call, entry.token, tenths, message);
    call.reset(); // perhaps the last one that had it
    lock.lock();
    if (entry.ended) {
        return;
    }
    if (told) {
        entry.told = now;
        entry.tenths = tenths;
    } else {
        entry.news = entry.news || news;
    }
    place(entry, now + (told && !entry.news ? interval_ : apart_));
}

} // namespace berth::mcp

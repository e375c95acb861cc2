#include "sandbox/guest/output_news.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {
namespace {

/// What comes together is told together.
constexpr std::chrono::milliseconds news_gathering{100};

} // namespace

OutputNews::OutputNews(EventLoop& loop, Find find) : loop_(loop), find_(std::move(find)) {}

OutputNews::~OutputNews()
{
    for (const auto& [number, listener] : listeners_) {
        loop_.cancel(listener.timer);
    }
}

OutputNews::Id OutputNews::add(std::string id, std::chrono::milliseconds apart, Tell tell)
{
    listeners_.emplace(++last_, Listener{.id = std::move(id),
                                         .apart = apart,
                                         .tell = std::move(tell),
                                         .told = BootClock::now()});
    return last_;
}

void OutputNews::drop(Id listener) noexcept
{
    if (const auto found = listeners_.find(listener); found != listeners_.end()) {
        loop_.cancel(found->second.timer);
        listeners_.erase(found);
    }
}

void OutputNews::printed(const std::string& id)
{
    for (auto& [number, listener] : listeners_) {
        if (listener.timer == 0 && listener.id == id) {
            tell_soon(number, listener);
        }
    }
}

void OutputNews::tell_soon(Id number, Listener& listener)
{
    const auto at = std::max(listener.told + listener.apart, BootClock::now() + news_gathering);
    listener.timer = loop_.call_at(at, [this, number] { tell(number); });
}

void OutputNews::tell(Id number)
{
    const auto found = listeners_.find(number);
    auto tail = find_(found->second.id);
    found->second.timer = 0;
    found->second.told = BootClock::now();
    if (tail.text.empty()) {
        return;
    }
    // A copy: a connection that proves broken ends its call, which drops the listener.
    const auto tell = found->second.tell;
    if (tell(std::move(tail))) {
        return;
    }
    if (const auto again = listeners_.find(number); again != listeners_.end()) {
        tell_soon(number, again->second);
    }
}

} // namespace berth::guest

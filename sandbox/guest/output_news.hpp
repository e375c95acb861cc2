#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/protocol/messages.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace berth::guest {

/// Tells those who wait for a command what it prints meanwhile: the newest of it, now and then.
/// Costs a command nothing to which nobody listens, and one that prints without end a few kilobytes
/// for each time. Belongs to the loop's thread.
class OutputNews {
  public:
    using Id = std::uint64_t;
    /// False: whoever listens has not taken the last one yet. It is told later, what is the newest
    /// then.
    using Tell = std::function<bool(protocol::PrintedTail tail)>;
    /// The newest output of the command of this id; an empty text when there is none.
    using Find = std::function<protocol::PrintedTail(const std::string& id)>;

    OutputNews(EventLoop& loop, Find find);
    ~OutputNews();
    OutputNews(const OutputNews&) = delete;
    OutputNews& operator=(const OutputNews&) = delete;

    /// `apart`: from one to the next, and from now to the first: what ends before that is told by
    /// its reply.
    Id add(std::string id, std::chrono::milliseconds apart, Tell tell);

    /// Nobody listens any more.
    void drop(Id listener) noexcept;

    /// The command of this id has.
    void printed(const std::string& id);

  private:
    struct Listener {
        std::string id;
        std::chrono::milliseconds apart;
        Tell tell;
        BootClock::time_point told;
        EventLoop::TimerId timer = 0; ///< 0: there is nothing new
    };

    void tell_soon(Id number, Listener& listener);
    void tell(Id number);

    EventLoop& loop_;
    Find find_;
    Id last_ = 0;
    std::map<Id, Listener> listeners_;
};

} // namespace berth::guest

#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// Which calls are in flight, for whoever waits until there is none. Belongs to the loop's thread,
/// and so do its tickets, all of which it has to outlive.
class CallBook {
  public:
    /// One call, for as long as this exists.
    class Ticket {
      public:
        Ticket(CallBook& book, std::string_view what);
        ~Ticket();
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;

        /// What the call does, in a few words: "the command `make`".
        void say(std::string what) { *entry_ = std::move(what); }

      private:
        CallBook& book_;
        std::list<std::string>::iterator entry_;
    };

    /// `ended` is called whenever a call has.
    explicit CallBook(std::function<void()> ended) : ended_(std::move(ended)) {}

    [[nodiscard]] std::shared_ptr<Ticket> begin(std::string_view what)
    {
        return std::make_shared<Ticket>(*this, what);
    }

    [[nodiscard]] std::size_t size() const noexcept { return calls_.size(); }

    /// Oldest first.
    [[nodiscard]] std::vector<std::string> list() const { return {calls_.begin(), calls_.end()}; }

  private:
    std::function<void()> ended_;
    std::list<std::string> calls_;
};

} // namespace berth::guest

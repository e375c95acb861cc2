#pragma once

#include "sandbox/guest/answer_book.hpp"
#include "sandbox/guest/call.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/protocol/frame.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

namespace berth::guest {

/// Calls that may be sent again (docs/adr/0017-named-calls.md): one that runs when its repetition
/// comes is answered there, one that has ended from the book, and none runs twice. One whose
/// connection broke waits for that for `patience`, or until its server is known to be gone; then it
/// learns that it is (Call::gone), and what it still says is kept all the same. Belongs to the
/// loop's thread; what it has of calls is let go of before the loop is.
class NamedCalls {
  public:
    struct Options {
        /// A server repeats a call at once, or within moments.
        std::chrono::milliseconds patience{5'000};
        std::size_t most_waiting = 64; ///< for their repetition; the oldest gives way
        AnswerBook::Limits book = {};
    };

    explicit NamedCalls(EventLoop& loop) : NamedCalls(loop, Options{}) {}

    NamedCalls(EventLoop& loop, const Options& options);
    ~NamedCalls();
    NamedCalls(const NamedCalls&) = delete;
    NamedCalls& operator=(const NamedCalls&) = delete;

    /// Of each request that comes in. True: `call` is answered, or its connection has another one
    /// now, and it is not to be begun. Throws what its answer is: Error(invalid_argument) for a
    /// name that another request has, Error(conflict) for one of which no more is known than that
    /// it was done, Error(busy) where another could not be remembered, Error(not_found) for a
    /// recall of one that never came.
    [[nodiscard]] bool take(const std::shared_ptr<Call>& call, const protocol::Frame& request);

    /// The connection of a call, or of its answer, is gone. `leased`: its server is here without
    /// one, so a repetition, or the word that the answer was had, may come for as long as that is
    /// so.
    void lost(const std::shared_ptr<Call>& call, bool leased);

    /// Whoever asked has had the answer.
    void seen(const Call& call);

    /// Said on another connection.
    enum class Word : unsigned char {
        seen,     ///< the same
        declined, ///< nobody wants the answer any more
        given_up  ///< whoever asked cannot ask for it any more, as if its server were gone
    };
    void settle(const std::string& name, Word word);

    /// Calls that wait for a repetition by a server that is gone wait no more.
    using IsHere = std::function<bool(const std::string& server)>;
    void drop_absent(const IsHere& is_here);

  private:
    /// A call that has not been answered, or not yet where somebody may read it.
    struct Flight {
        std::string name;
        std::string server;
        std::weak_ptr<Call> call;
        std::shared_ptr<Call> waiting; ///< the same, while it waits for its repetition
        EventLoop::TimerId timer = 0;
    };

    using Flights = std::list<Flight>;

    [[nodiscard]] bool spend(const std::string& name);
    void begin(const std::shared_ptr<Call>& call, const std::string& name,
               const AnswerBook::Request& request);
    bool repeat(const std::shared_ptr<Call>& call, const std::string& name, bool data_follows);
    void settle_running(Flights::iterator flight, Word word);
    void keep_answered(const std::shared_ptr<Call>& call);
    void ended(const Call& call, protocol::FrameType type, const std::string& payload);
    [[nodiscard]] Flights::iterator find(const std::string& name);
    void abandon(Flights::iterator flight);
    void bound_waiting();

    EventLoop& loop_;
    const Options options_;
    AnswerBook book_;
    Flights flights_; ///< oldest first: no more than there are connections, and those that wait
};

} // namespace berth::guest

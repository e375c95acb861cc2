#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace berth::guest {

/// Threads for work that may block: on a slow disk, a hung mount, a FIFO. Started when they are
/// needed and ended when they are idle, so that an idle guest has none. Thread-safe.
class Workers {
  public:
    using Job = std::function<void()>; ///< must not throw

    /// Of jobs. Each has a queue, in which the askers take turns; searches, listings and transfers,
    /// which may take long without anything being stuck, have a part of the threads only, as have
    /// filters, of which many take turns: the rest is for short ones. Listings are by themselves,
    /// since they seldom take as long as a search through what is in the files. The count of a
    /// home, one at a time, is among the short ones: behind listings that hang it would never come.
    enum class Kind : unsigned char { brief, search, listing, transfer, filter };

    struct Options {
        std::size_t most = 18;         ///< stuck ones included: so many hung calls hold up the next
        std::size_t most_searches = 6; ///< of `most`, at least one; a search has memory of its own
        std::size_t most_listings = 2; ///< of `most`, at least one
        std::size_t most_transfers = 4; ///< of `most`, at least one
        std::size_t most_filters = 2;   ///< of `most`, at least one
        std::size_t stack = 512UL * 1024;
        std::chrono::milliseconds idle{2000};
        std::size_t queue = 256; ///< of each kind; see FairLine
    };

    Workers() : Workers(Options()) {}

    explicit Workers(const Options& options);
    /// Waits for the running jobs; queued ones are dropped.
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// `asker`: for whom, so that whoever asks for much holds up another for no longer than one
    /// turn of each; the guest itself without. Of one asker what came first begins first. Throws
    /// Error(busy) when the kind's queue is full or no thread can be had.
    void run(Job job, Kind kind = Kind::brief, const std::string& asker = {});

    [[nodiscard]] std::size_t threads() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

} // namespace berth::guest

#pragma once

#include "sandbox/base/deadline.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace berth::sandbox {

class GuestConnection;
class LateWords;

/// The connections of a machine's guest that are kept for the next call. Thread-safe.
class ConnectionPool {
  public:
    /// A connection more than `most` is closed.
    explicit ConnectionPool(std::size_t most);

    ~ConnectionPool();
    ConnectionPool(const ConnectionPool&) = delete;
    ConnectionPool& operator=(const ConnectionPool&) = delete;

    /// The one that was used last; null when there is none.
    [[nodiscard]] std::unique_ptr<GuestConnection> take();
    /// Null is ignored.
    void give_back(std::unique_ptr<GuestConnection> connection);
    void clear();
    /// The same, and the guest has seen them go, or the deadline has passed.
    void hang_up(const Deadline& deadline);

    /// For a connection that is to be kept until its result was read, as long as this lives; null:
    /// there are as many as a guest's connections, which other servers need too, can spare.
    [[nodiscard]] std::shared_ptr<void> place_until_read();

  private:
    const std::size_t most_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<GuestConnection>> idle_; ///< guarded by mutex_
    const std::shared_ptr<void> places_;                 ///< one more owner for each that is taken
};

/// That an agent has read something which no guest knows of. Thread-safe.
class ReadMark {
  public:
    [[nodiscard]] bool is_set() const;
    /// Idempotent.
    void set();

    /// `action` is called when it is set, by whoever does: it must not wait for anybody. At once
    /// where it is set already.
    void then(std::function<void()> action);

  private:
    mutable std::mutex mutex_; ///< guards what follows
    bool set_ = false;
    std::function<void()> action_;
};

/// Of a command's result that somebody still has to see, or of what a server was told of such
/// results: whoever has handed it on says so, and the guest may forget how the command ended.
/// Destroyed, or assigned to, without, as by the death of the server, it makes the guest keep that
/// for whoever comes next: where the call's connection was not kept the guest hears of it with the
/// next hello, or in time (LateWords). An empty one is of no consequence.
class Receipt {
  public:
    Receipt() noexcept;
    /// `pool`: takes the connection when that word has been said; null: it is of no further use.
    /// `place`: ConnectionPool::place_until_read(), where that is asked for.
    Receipt(std::unique_ptr<GuestConnection> connection, std::shared_ptr<ConnectionPool> pool,
            std::shared_ptr<void> place = nullptr);
    /// Of a call of that name whose connection was not kept.
    Receipt(std::string call, std::shared_ptr<LateWords> words) noexcept;
    /// Of what no guest knows: `read` is set when it is acknowledged.
    explicit Receipt(std::shared_ptr<ReadMark> read) noexcept;
    ~Receipt();
    Receipt(Receipt&&) noexcept;
    Receipt& operator=(Receipt&&) noexcept;
    Receipt(const Receipt&) = delete;
    Receipt& operator=(const Receipt&) = delete;

    [[nodiscard]] explicit operator bool() const noexcept { return connection_ || read_ || words_; }

    /// Does not wait for the guest. Idempotent.
    void acknowledge() noexcept;

    /// Instead: nobody will see the result, nor wants to. The guest ends what the command has left
    /// running, or begun in the background. Does not wait for it.
    void decline() noexcept;

  private:
    void say_later(void (LateWords::*word)(const std::string&)) noexcept;
    /// Says that one word, if the guest waits for any.
    void say(void (GuestConnection::*word)()) noexcept;

    std::unique_ptr<GuestConnection> connection_;
    std::shared_ptr<ConnectionPool> pool_;
    std::shared_ptr<void> place_;
    std::string call_;
    std::shared_ptr<LateWords> words_; ///< null: there is nothing to be said later
    std::shared_ptr<ReadMark> read_;
};

/// Of several results that one answer tells of.
using Receipts = std::vector<std::shared_ptr<Receipt>>;

} // namespace berth::sandbox

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace berth::transport {

/// What one request holds of the room that a server has for bodies, and for answers that are large:
/// given back with its end. Thread-safe.
class HttpRoom {
  public:
    using Count = std::atomic<std::size_t>;

    /// Of all requests together, by a server.
    struct Limits {
        std::size_t all = 0;
        std::size_t body = 0; ///< of one alone, which is always taken
    };

    /// `all` counts what all requests hold, `account` those of whoever calls, who may have a
    /// quarter; null: nobody is known.
    HttpRoom(std::shared_ptr<Count> all, std::shared_ptr<Count> account, Limits limits);
    ~HttpRoom();
    HttpRoom(const HttpRoom&) = delete;
    HttpRoom& operator=(const HttpRoom&) = delete;

    /// False: there is no room for so many more, and none of them are held.
    [[nodiscard]] bool take(std::size_t bytes) noexcept;

  private:
    void give_back(std::size_t bytes) noexcept;

    const std::shared_ptr<Count> all_;
    const std::shared_ptr<Count> account_;
    const Limits limits_;
    Count held_{0};
};

} // namespace berth::transport

#pragma once

#include "server/transport/http_socket.hpp"

#include <list>
#include <mutex>

namespace berth::transport {

/// Connections whose request has not come whole yet, or is refused, or is one that anybody may
/// make, or is answered without a call, however little of that is read. Whoever reaches the port
/// could else hold all places with heads that never end, and one caller with bodies: where there is
/// no place left, those go. Thread-safe.
class HttpArrivals {
  public:
    class Stay;

    /// Breaks off the one that is there for longest, of whoever has most of them, so that who fills
    /// the places loses his own. False: there is none.
    bool break_longest() noexcept;

  private:
    std::mutex mutex_;         ///< guards what follows
    std::list<Stay*> staying_; ///< for longest first
};

/// One connection at one request, from the first byte of its head. For one thread.
class HttpArrivals::Stay {
  public:
    /// Both outlive it.
    Stay(HttpArrivals& all, HttpSocket& socket);
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

    /// Who sends it, once that is known; null: nobody in particular. It is compared, never looked
    /// at.
    void belongs_to(const void* who) noexcept;

    /// From here on the connection is broken off for nobody: its request is worked on. False: it
    /// was before, and nothing may be done for it.
    [[nodiscard]] bool end() noexcept;

    /// It stays again, now for its answer to be read, which nobody works for any more.
    void again() noexcept;

    [[nodiscard]] bool is_broken() const noexcept;

  private:
    friend class HttpArrivals;

    HttpArrivals& all_;
    HttpSocket& socket_;
    const void* who_ = nullptr;        ///< guarded by all_.mutex_, as what follows
    std::list<Stay*>::iterator place_; ///< end() where it stays no more
    bool broken_ = false;
};

} // namespace berth::transport

#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "server/rpc/worker_pool.hpp"
#include "server/transport/http_arrivals.hpp"
#include "server/transport/http_library.hpp"
#include "server/transport/http_message.hpp"
#include "server/transport/http_socket.hpp"
#include "server/transport/http_traffic.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace berth::transport {

struct HttpSettings {
    HttpHeadLimits head{};
    std::size_t body = std::size_t{32} << 20U; ///< bytes of one
    /// Of all that are held at once; whoever calls may have a quarter, but always one body.
    std::size_t bodies = std::size_t{256} << 20U;
    std::size_t connections = 1024;
    std::chrono::milliseconds head_time{10'000};
    std::chrono::milliseconds body_time{120'000};
    std::chrono::milliseconds idle_time{75'000}; ///< of a connection without a request
    /// Of a peer, to read a piece of its answer.
    std::chrono::milliseconds write_time = HttpSocket::write_time;
};

/// Accepts connections and has each request answered. A connection that waits for its next request
/// takes no thread; one that is busy has one of its own, so that no slow peer keeps others waiting.
/// Above `connections` the one that has been idle for longest goes, and where none is, one whose
/// request has not come whole (HttpArrivals). Where all are worked for, the new one is told 503.
class HttpServer {
  public:
    /// `listener`: a socket that listens. `handler` outlives the server.
    HttpServer(UniqueFd listener, HttpHandler& handler, HttpSettings settings);
    /// Breaks off what is left.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// Until stop(). The caller's thread accepts.
    void run();

    /// No connection is accepted from here on, and idle ones end; those in the middle of a request
    /// get their answer, as their last one. From any thread.
    void stop() noexcept;

    /// Requests that are being answered.
    [[nodiscard]] std::size_t busy() const noexcept { return busy_; }

    [[nodiscard]] std::size_t connections() const noexcept { return open_; }

    /// Of bodies, and large answers, that are held.
    [[nodiscard]] std::size_t body_bytes() const noexcept { return *bodies_; }

    [[nodiscard]] const HttpTraffic& traffic() const noexcept { return traffic_; }

    [[nodiscard]] const HttpSettings& settings() const noexcept { return settings_; }

  private:
    using Clock = std::chrono::steady_clock;
    using Socket = std::shared_ptr<HttpSocket>;
    class Body;

    struct Parked {
        Socket socket;
        Clock::time_point since;
    };

    void accept_all();
    void accept_one(UniqueFd socket);
    void refuse_connection(const UniqueFd& socket);
    void park(const Socket& socket);
    [[nodiscard]] Socket unpark(int descriptor);
    bool make_place();
    bool drop_longest_idle(Clock::duration least);
    void drop_idle(Clock::duration longest);
    void look_at_idle();
    void start(Socket socket);
    void serve(const Socket& socket);
    bool serve_one(const Socket& socket);
    [[nodiscard]] HttpAdmission admit(const HttpHead& head, const HttpSocket& socket);
    bool answer(const Socket& socket, const HttpHead& head, HttpArrivals::Stay& stay);
    [[nodiscard]] HttpAnswer refuse_broken();
    [[nodiscard]] HttpAnswer refuse_length();
    bool answer_unread(HttpSocket& socket, const HttpHead& head, HttpAnswer answer);
    bool wait_for_next(HttpSocket& socket);
    [[nodiscard]] HttpAnswer made(const std::function<HttpAnswer()>& make);

    UniqueFd listener_;
    UniqueFd events_; ///< epoll: the listener, `wake_` and parked connections
    UniqueFd wake_;
    HttpHandler& handler_;
    HttpSettings settings_;
    HttpLibrary library_;
    HttpTraffic traffic_;
    HttpArrivals arrivals_;
    /// Shared with what outlives a connection, and at its end this.
    std::shared_ptr<HttpRoom::Count> bodies_ = std::make_shared<HttpRoom::Count>(0);
    std::atomic<std::size_t> open_{0};
    std::atomic<std::size_t> busy_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;         ///< guards what follows
    std::list<Parked> parked_; ///< the longest idle first
    std::unordered_map<int, std::list<Parked>::iterator> by_descriptor_;
    std::unordered_map<int, std::weak_ptr<HttpSocket>> serving_;
    rpc::WorkerPool pool_; ///< last: its threads use all of it
};

} // namespace berth::transport

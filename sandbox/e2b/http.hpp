#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/e2b/endpoint.hpp"
#include "sandbox/e2b/proxy.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::e2b {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
    std::string method;
    std::string target;    ///< path and query below the endpoint's prefix, encoded
    HttpHeaders headers{}; ///< values of printable ASCII; beside them go Host and the length alone
    std::string body{};
    bool streamed = false; ///< the body comes by HttpExchange::write(), in chunks
};

struct HttpHead {
    int status = 0;
    HttpHeaders headers; ///< names in small letters; values that are not printable are left out

    /// Of the first of this name (in small letters); empty: there is none.
    [[nodiscard]] std::string header(std::string_view name) const;
};

struct HttpReply : HttpHead {
    std::string body;
};

/// No answer, or not all of one. As an Error: cancelled after a stop request, backend_error for an
/// answer above the limit, else sandbox_unavailable.
class HttpFailure : public Error {
  public:
    enum class Cause : unsigned char {
        unconnected, ///< no connection, or none that may be trusted
        broken,      ///< the connection ended, or what came is no HTTP
        expired,     ///< the deadline passed
        cancelled,   ///< a stop was requested
        cut,         ///< by cut()
        too_large,   ///< the answer is above the limit
    };

    HttpFailure(Cause cause, bool unsent, const std::string& message, std::string hint);

    [[nodiscard]] Cause cause() const noexcept { return cause_; }

    /// The server has certainly not had the whole request, so it has done nothing. False leaves
    /// it open.
    [[nodiscard]] bool unsent() const noexcept { return unsent_; }

  private:
    Cause cause_;
    bool unsent_;
};

struct HttpSettings {
    ProxyRules proxies{};
    std::string authorities{}; ///< file of certificates to trust; empty: those of the system
    std::chrono::milliseconds connect{20'000}; ///< for each address of a host
    std::size_t most_idle = 4;                 ///< connections kept for the next request
    std::chrono::seconds idle{300};            ///< for how long
};

class HttpTransfer;
class HttpPool;

/// One request and its answer, on a connection that nobody else uses meanwhile. One thread writes,
/// one reads; cut() may be called by any thread at any time. When it goes before its answer has
/// come to its end, the connection is cut.
class HttpExchange {
  public:
    explicit HttpExchange(std::shared_ptr<HttpTransfer> transfer) noexcept;
    HttpExchange(HttpExchange&&) noexcept = default;
    HttpExchange& operator=(HttpExchange&& other) noexcept;
    HttpExchange(const HttpExchange&) = delete;
    HttpExchange& operator=(const HttpExchange&) = delete;
    ~HttpExchange();

    /// More of a streamed body. Waits while 256 KiB are on their way. False: the server has
    /// answered without waiting for it and takes no more; head() has what it said. Throws
    /// HttpFailure; `expired` and `cancelled` leave part of it sent, after which only cut() makes
    /// sense.
    bool write(std::string_view bytes, const Deadline& deadline, const std::stop_token& stop = {});

    /// Ends a streamed body.
    void finish() noexcept;

    /// Waits for status and headers. Throws HttpFailure; after `expired` and `cancelled` the
    /// exchange goes on, and the same may be asked again.
    [[nodiscard]] const HttpHead& head(const Deadline& deadline, const std::stop_token& stop = {});

    /// Some of the body: at least one byte, at most `size`; 0 at its end, which is the end that the
    /// server announced. Throws as head().
    [[nodiscard]] std::size_t read(char* data, std::size_t size, const Deadline& deadline,
                                   const std::stop_token& stop = {});

    /// Whether all of a streamed body has gone. To be asked at the end of the answer: one that came
    /// before, whatever it says, is no answer to the whole.
    [[nodiscard]] bool sent() const;

    /// Ends the connection; whatever waits returns with `cut`. Nothing that waits for a network
    /// holds it up.
    void cut() noexcept;

  private:
    std::shared_ptr<HttpTransfer> transfer_;
};

/// Speaks HTTP/1.1 to any number of servers, and keeps connections for the next request. Server
/// certificates are verified, redirects are not followed, nothing is sent twice. Thread-safe. The
/// last request must have ended before it does; it waits for connections that were being made.
class HttpClient {
  public:
    explicit HttpClient(HttpSettings settings);
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;
    ~HttpClient();

    /// Begins; waits for nothing. Throws Error(invalid_argument) for a header or a target that
    /// would be another request.
    [[nodiscard]] HttpExchange open(const Endpoint& endpoint, HttpRequest request);

    /// The whole of a short exchange. Throws HttpFailure, `too_large` for a body above `largest`;
    /// the connection is cut then.
    [[nodiscard]] HttpReply request(const Endpoint& endpoint, HttpRequest request,
                                    std::size_t largest, const Deadline& deadline,
                                    const std::stop_token& stop = {});

    /// Connections that are kept at the moment.
    [[nodiscard]] std::size_t idle() const;

  private:
    std::shared_ptr<HttpPool> pool_;
};

/// The rest of a body, up to `largest`. Throws HttpFailure as HttpClient::request().
[[nodiscard]] std::string read_rest(HttpExchange& exchange, std::size_t largest,
                                    const Deadline& deadline, const std::stop_token& stop = {});

} // namespace berth::e2b

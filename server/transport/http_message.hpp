#pragma once

#include "server/transport/http_head.hpp"
#include "server/transport/http_room.hpp"
#include "server/transport/http_socket.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::transport {

/// What one request is answered with.
struct HttpAnswer {
    /// False: the peer is gone, and nothing more need be written.
    using Write = std::function<bool(std::string_view)>;

    int status = 200;
    /// Never of what the request says: its values are a stranger's.
    std::vector<std::pair<std::string, std::string>> fields{};
    std::string type{}; ///< of the body
    std::string body{};
    /// Writes the body piece by piece; in the thread of the connection. What it returns is the last
    /// piece. A client that has that may close at once, so it goes out together with the end of the
    /// body, which would be left unread else. Empty: `body` is it.
    std::function<std::string(const Write& write)> stream{};
    /// After it was written, or was not.
    std::function<void(bool written)> then{};
    bool close = false; ///< the connection ends with it
};

/// What is decided by a head alone, before a byte of the body is kept.
struct HttpAdmission {
    std::optional<HttpAnswer> refusal{};
    /// The bytes that are held for whoever calls, who may have a part of all only.
    std::shared_ptr<HttpRoom::Count> account{};
    std::shared_ptr<const void> context{}; ///< goes with the request
    /// Of every answer to it, who ever makes that.
    std::vector<std::pair<std::string, std::string>> fields{};
};

struct HttpRequest {
    const HttpHead& head;
    std::string body;
    const std::shared_ptr<HttpSocket>& socket;
    std::shared_ptr<const void> context; ///< of its admission
    /// Its body is counted there; who holds more for its answer counts that too, and keeps it.
    std::shared_ptr<HttpRoom> room{};
};

/// What answers requests; called by many threads at once. What it throws is answered with 500 and
/// not told: it may quote what is not for strangers.
class HttpHandler {
  public:
    HttpHandler() = default;
    HttpHandler(const HttpHandler&) = delete;
    HttpHandler& operator=(const HttpHandler&) = delete;
    virtual ~HttpHandler() = default;

    [[nodiscard]] virtual HttpAdmission admit(const HttpHead& head, const HttpSocket& socket) = 0;
    [[nodiscard]] virtual HttpAnswer answer(HttpRequest request) = 0;
    /// The answer to what is no request that it is asked about: too long, too late, no HTTP.
    [[nodiscard]] virtual HttpAnswer refuse(int status, const std::string& reason) = 0;
};

} // namespace berth::transport

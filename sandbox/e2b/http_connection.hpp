#pragma once

#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/http_transfer.hpp"

#include <memory>
#include <optional>

namespace berth::e2b {

/// A connection to one server, made when it is needed. One exchange at a time, in a thread that it
/// blocks. The only thing that knows the HTTP library, whose name is in http.cpp alone.
class HttpConnection {
  public:
    HttpConnection(const Endpoint& endpoint, const HttpSettings& settings);
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;
    ~HttpConnection();

    /// Does all of it and tells the transfer, but for its success: true, and whoever asked may put
    /// the connection away before he tells that. False: it is of no use any more.
    [[nodiscard]] bool exchange(HttpTransfer& transfer);

    /// Whether it can be used for another one: neither its server nor a cut has ended it.
    [[nodiscard]] bool is_usable() const noexcept;

  private:
    struct Library;

    std::shared_ptr<SocketHold> socket_;
    std::unique_ptr<Library> library_;
    bool closed_ = false; ///< by its server
};

} // namespace berth::e2b

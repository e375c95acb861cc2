#pragma once

#include "sandbox/e2b/endpoint.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace berth::tests {

/// A server of a test that speaks TLS, with a certificate of its own for `name`, a name or a
/// number of a host; it is at 127.0.0.1 whatever it is called. Answers everything with "secret",
/// but for /silent, which it leaves without an answer.
class TlsServer {
  public:
    using Headers = std::multimap<std::string, std::string>;

    explicit TlsServer(const std::string& name);
    TlsServer(const TlsServer&) = delete;
    TlsServer& operator=(const TlsServer&) = delete;
    ~TlsServer();

    [[nodiscard]] e2b::Endpoint endpoint(const std::string& host) const;

    /// The file with its certificate, for whoever shall trust it.
    [[nodiscard]] std::string certificate() const;

    /// Headers of the last request.
    [[nodiscard]] Headers headers() const;

  private:
    struct Library;

    TemporaryDirectory directory_;
    std::unique_ptr<Library> library_;
    int port_ = 0;
    std::thread thread_;
};

} // namespace berth::tests

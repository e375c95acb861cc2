#pragma once

#include "server/transport/http_message.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace berth::transport {

/// What cpp-httplib does of a request: it reads the body and writes the answer. It never sees the
/// head that a peer has sent, but one that is made of it by us: Debian 12's 0.11.4 takes heads of
/// any length, decodes line breaks in values and believes REMOTE_ADDR (CVE-2025-53628, -52887,
/// -66570, CVE-2026-45372; docs/adr/0030-http.md). Thread-safe.
class HttpLibrary {
  public:
    HttpLibrary();
    ~HttpLibrary();
    HttpLibrary(const HttpLibrary&) = delete;
    HttpLibrary& operator=(const HttpLibrary&) = delete;

    /// Takes a piece of the body; false: it is not read any further.
    using TakeBody = std::function<bool(std::string_view)>;
    /// Called once the body was read; `whole` is false where it ended early or was not taken.
    using MakeAnswer = std::function<HttpAnswer(bool whole)>;

    /// One request whose head was read from `socket`. False: nothing more can be read or written
    /// there.
    [[nodiscard]] bool process(HttpSocket& socket, const HttpHead& head, bool reads_body,
                               const TakeBody& take, const MakeAnswer& make);

  private:
    class Server;
    std::unique_ptr<Server> server_;
};

} // namespace berth::transport

#pragma once

#include "server/options/options.hpp"

#include <string>
#include <string_view>

namespace berth::server::http {

/// How clients that have no token find out where to get one: RFC 9728, which MCP's authorization
/// asks for. Immutable.
class ResourceMetadata {
  public:
    /// Without an issuer, or where the audience is no address of this server, there is none.
    explicit ResourceMetadata(const JwtOptions& options);

    /// Whether it is at that path: below /.well-known/, with that of the resource behind it or not.
    [[nodiscard]] bool serves(std::string_view path) const noexcept;

    [[nodiscard]] const std::string& document() const noexcept { return document_; } ///< JSON

    /// The field WWW-Authenticate of a request without a token, or with one that is not taken.
    [[nodiscard]] std::string challenge(bool has_token) const;

  private:
    bool has_issuer_;
    std::string path_; ///< of the resource: "/mcp"; with document_
    std::string url_;  ///< where the document is, for clients
    std::string document_;
};

} // namespace berth::server::http

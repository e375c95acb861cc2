#pragma once

#include "server/mcp/era.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/message.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::mcp {

class Service;

/// The headers of a request that the revisions have rules for; nothing: it was not sent.
struct HttpFacts {
    std::optional<std::string> version; ///< MCP-Protocol-Version
    std::optional<std::string> method;  ///< Mcp-Method
    std::optional<std::string> name;    ///< Mcp-Name, as it was sent
    /// Mcp-Param-*: in small letters without that beginning, and as they were sent.
    std::vector<std::pair<std::string, std::string>> params{};
};

inline constexpr int header_mismatch = -32020;

/// A message that is refused with a status of HTTP.
class HttpRefusal : public rpc::ProtocolError {
  public:
    HttpRefusal(int status, int code, const std::string& message, std::string data = {})
        : rpc::ProtocolError(code, message, std::move(data)), status_(status)
    {
    }

    [[nodiscard]] int status() const noexcept { return status_; }

  private:
    int status_;
};

/// Decides by body and headers which era a message is of, and checks what that era asks of the
/// headers: what a proxy on the way routes by must be what is done here, or its rules are none for
/// whoever calls. Throws HttpRefusal. (2026-07-28 basic/transports/streamable-http, and the order
/// in which the SDKs look.)
[[nodiscard]] Era check_http_message(const rpc::Message& message, const HttpFacts& facts);

/// What else 2026-07-28 asks of a request, by what is served: a method that is offered, a client
/// that can what the tool needs, headers that say what its arguments say. Throws HttpRefusal.
void check_http_service(const Service& service, const rpc::Message& message,
                        const HttpFacts& facts);

/// The same of an array, which only an older revision has. Throws HttpRefusal.
void check_http_batch(const nlohmann::json& messages, const HttpFacts& facts);

/// `=?base64?...?=` as its text; anything else as it stands. Nothing where that is no base64, or
/// has other characters than visible ones of ASCII.
[[nodiscard]] std::optional<std::string> decode_header(std::string_view value);

} // namespace berth::mcp

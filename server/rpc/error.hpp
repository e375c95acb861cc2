#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace berth::rpc {

/// The codes of JSON-RPC 2.0 itself; a protocol on top adds its own.
inline constexpr int parse_error = -32700;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int internal_error = -32603;

/// A request that is answered by an error object instead of a result.
class ProtocolError : public std::runtime_error {
  public:
    /// `data`: JSON text of the error's `data` member; empty: none.
    ProtocolError(int code, const std::string& message, std::string data = {})
        : std::runtime_error(message), code_(code), data_(std::move(data))
    {
    }

    [[nodiscard]] int code() const noexcept { return code_; }

    [[nodiscard]] const std::string& data() const noexcept { return data_; }

  private:
    int code_;
    std::string data_;
};

} // namespace berth::rpc

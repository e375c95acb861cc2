#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>

namespace berth::rpc {

/// A request's id as JSON text (`7`, `"abc"`): 7 and "7" differ, and it is echoed as it came.
using Id = std::string;

enum class Kind : unsigned char { request, notification, response };

/// One JSON-RPC message, its shape checked.
struct Message {
    Message();
    Message(Message&&) noexcept;
    Message& operator=(Message&&) noexcept;
    ~Message();

    Kind kind = Kind::notification;
    Id id;              ///< of a request, or what a response answers
    std::string method; ///< of a request or notification
    /// An object, empty when none was sent. Of a response: `result` or `error` is its member.
    std::unique_ptr<nlohmann::json> params;
    /// Of a message that cannot be read: `params` has some of its members at most.
    bool partial = false;
};

/// The id of a message that may be malformed, for the error that answers it; "null" when it has
/// none that could be echoed.
[[nodiscard]] Id id_for_error(const nlohmann::json& message);

/// Whether it was meant as a notification, however malformed otherwise: those are never answered.
[[nodiscard]] bool is_notification(const nlohmann::json& message);

/// The id in `value`, or "" when it is neither a string nor an integer.
[[nodiscard]] Id id_from(const nlohmann::json& value);

/// Takes a parsed message apart. Throws ProtocolError.
[[nodiscard]] Message take_message(nlohmann::json&& message);

/// `{"jsonrpc":"2.0","id":...,"result":...}`; `result` is JSON text.
[[nodiscard]] std::string result_message(const Id& id, const std::string& result);

/// A request of ours; `params` is JSON text.
[[nodiscard]] std::string request_message(const Id& id, const std::string& method,
                                          const std::string& params);

/// `data` is JSON text or empty.
[[nodiscard]] std::string error_message(const Id& id, int code, const std::string& message,
                                        const std::string& data);

[[nodiscard]] std::string notification_message(const std::string& method,
                                               const std::string& params);

} // namespace berth::rpc

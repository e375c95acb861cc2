#pragma once

#include "server/mcp/era.hpp"
#include "server/mcp/log_level.hpp"
#include "server/rpc/call.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace berth::mcp {

inline constexpr int missing_client_capability = -32021;

/// What a client has said of itself: in each request (2026-07-28), or once for all of them.
struct Client {
    std::shared_ptr<const nlohmann::json> capabilities; ///< an object
    std::optional<LogLevel> log_level;                  ///< nothing: it wants no messages
    bool knows_icons = false;                           ///< its revision has_icons()
};

/// Of a request of 2026-07-28, whose envelope is checked. Throws rpc::ProtocolError for a level
/// that there is not.
[[nodiscard]] Client client_of(const std::shared_ptr<rpc::Call>& call);

/// What is kept of what `initialize` says of the client, for as long as it is connected: which of
/// the capabilities that a server can use it has, however much it says.
[[nodiscard]] std::shared_ptr<const nlohmann::json> kept_capabilities(const nlohmann::json& params);

/// Throws ProtocolError -32021 unless `capabilities` has the one of that name.
void require_capability(const nlohmann::json& capabilities, std::string_view name);

/// The progress token as JSON text, or empty: there is none. One that no client makes is none
/// either: what is told with it would no longer fit into a pipe at once (Sink::offer()), and a
/// client that does not read would hold up everybody's.
[[nodiscard]] std::string progress_token(const nlohmann::json& params);

/// One request as who works on it finds it: what it says, what its client can, and what may be said
/// to that before the answer. Thread-safe.
class RequestContext {
  public:
    RequestContext(std::shared_ptr<rpc::Call> call, Era era, Client client);

    [[nodiscard]] const std::shared_ptr<rpc::Call>& call() const noexcept { return call_; }

    [[nodiscard]] const nlohmann::json& params() const noexcept { return call_->params(); }

    [[nodiscard]] std::stop_token stop_token() const noexcept { return call_->stop_token(); }

    [[nodiscard]] Era era() const noexcept { return era_; }

    [[nodiscard]] const Client& client() const noexcept { return client_; }

    [[nodiscard]] bool can(std::string_view capability) const;

    /// notifications/message, where the client wants that level. Of a long `data` the first part.
    void log(LogLevel level, std::string_view logger, const std::string& data) const;

    /// notifications/progress, where the client gave a token. `done` rises from one to the next.
    void progress(double done, double total) const;

    /// Sends the client a request and waits for its result, as rpc::Call::ask(). In 2026-07-28
    /// nobody is asked: Error(unsupported), a result says there what is needed (Outcome).
    [[nodiscard]] nlohmann::json ask(const std::string& method, const nlohmann::json& params) const;

  private:
    std::shared_ptr<rpc::Call> call_;
    Era era_;
    Client client_;
};

} // namespace berth::mcp

#pragma once

#include "server/http/host_rules.hpp"
#include "server/http/legacy_sessions.hpp"
#include "server/http/operator_api.hpp"
#include "server/http/resource_metadata.hpp"
#include "server/http/tenants.hpp"
#include "server/mcp/http_rules.hpp"
#include "server/transport/exchange.hpp"
#include "server/transport/http_message.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace berth::server::http {

/// Who has sent a request; null: nobody that is known, who is asked for a token.
using Identify = std::function<std::shared_ptr<const Caller>(const transport::HttpHead& head,
                                                             const transport::HttpSocket& socket)>;

/// MCP at /mcp, in both eras, what says that the server is alive, and the operator's API.
/// docs/http.md has the statuses.
class Endpoint final : public transport::HttpHandler {
  public:
    struct Parts {
        HostRules rules;
        Identify identify;
        Tenants& tenants;
        LegacySessions& sessions;
        rpc::ReadLimits read;
        /// Why no sandbox can be made just now; empty: one can.
        std::function<std::string()> unavailable;
        OperatorApi& operators;
        ResourceMetadata metadata;
    };

    explicit Endpoint(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] transport::HttpAdmission admit(const transport::HttpHead& head,
                                                 const transport::HttpSocket& socket) override;
    [[nodiscard]] transport::HttpAnswer answer(transport::HttpRequest request) override;
    [[nodiscard]] transport::HttpAnswer refuse(int status, const std::string& reason) override;

  private:
    struct Asked;

    [[nodiscard]] transport::HttpAnswer post(const transport::HttpRequest& request,
                                             const std::shared_ptr<const Caller>& caller);
    [[nodiscard]] transport::HttpAnswer take(nlohmann::json&& message, Asked& asked);
    [[nodiscard]] transport::HttpAnswer modern(rpc::Message message, Asked& asked);
    [[nodiscard]] transport::HttpAnswer legacy(rpc::Message message, Asked& asked);
    [[nodiscard]] transport::HttpAnswer initialize(rpc::Message message, Asked& asked);
    [[nodiscard]] transport::HttpAnswer batch(nlohmann::json&& messages, Asked& asked);
    [[nodiscard]] std::shared_ptr<LegacySession> session_of(const Asked& asked);
    [[nodiscard]] std::shared_ptr<Tenant> tenant_or_room(const Caller& caller,
                                                         const std::string& name);
    /// Throws Error that its caller may read.
    [[nodiscard]] std::shared_ptr<Tenant> tenant_of(const Caller& caller, const std::string& name);
    [[nodiscard]] transport::HttpAdmission admit_caller(const transport::HttpHead& head,
                                                        const transport::HttpSocket& socket);
    [[nodiscard]] transport::HttpAnswer health(const transport::HttpHead& head) const;
    [[nodiscard]] transport::HttpAnswer metadata(const transport::HttpHead& head) const;
    /// Throws HttpRefusal.
    [[nodiscard]] transport::HttpAnswer end_session(const transport::HttpHead& head,
                                                    const Caller& caller);

    Parts parts_;
    std::atomic<std::uint64_t> scopes_{0};
};

} // namespace berth::server::http

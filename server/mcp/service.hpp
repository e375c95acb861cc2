#pragma once

#include "server/mcp/catalog.hpp"
#include "server/mcp/heartbeat.hpp"
#include "server/mcp/reply.hpp"
#include "server/rpc/dispatcher.hpp"
#include "tools/tool.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace berth::mcp {

/// Runs a tool in the session of this server; appends what the agent must be told once to
/// `notices`, also when it throws.
using Runner =
    std::function<tools::Result(const tools::Entry& tool, const nlohmann::json& arguments,
                                const std::stop_token& stop, std::vector<std::string>& notices)>;

/// How a call ended, for the log. Payloads are not in it.
struct CallReport {
    std::string_view tool;
    std::string_view outcome; ///< "ok", or the error code
    std::chrono::microseconds duration;
    std::string_view message; ///< of an error
};

struct Configuration {
    Identity identity;
    Catalog catalog;
    tools::Settings settings;
    std::function<std::string(const tools::Entry&)> describe; ///< asked once, at the first list
    std::function<std::string()> instructions;                ///< asked once, when first needed
    Runner run;
    std::function<void(const CallReport&)> report;
    std::chrono::milliseconds progress_interval = std::chrono::seconds(8);
};

/// The methods of MCP; the same for every peer and both eras. Thread-safe.
class Service {
  public:
    explicit Service(Configuration configuration);

    [[nodiscard]] std::string discover();
    /// `version`: the one that was negotiated.
    [[nodiscard]] std::string initialize(const std::string& version);
    [[nodiscard]] std::string list(const nlohmann::json& params, Era era);
    void call(const std::shared_ptr<rpc::Call>& call, Era era);

  private:
    const std::string& instructions();
    const std::string& tools_text();
    [[nodiscard]] const tools::Entry& requested_tool(const nlohmann::json& params) const;
    void run(const std::shared_ptr<rpc::Call>& call, const tools::Entry& tool, Era era);

    Configuration configuration_;
    std::once_flag instructions_once_;
    std::string instructions_; ///< as JSON text
    std::once_flag tools_once_;
    std::string tools_text_;
    Heartbeat heartbeat_;
};

/// One client: decides the era of each message and routes it.
class Connection final : public rpc::Handler {
  public:
    explicit Connection(Service& service) : service_(service) {}

    void request(const std::shared_ptr<rpc::Call>& call) override;
    void notification(const rpc::Message& message, rpc::Dispatcher& dispatcher) override;
    [[nodiscard]] bool accepts_batch(const nlohmann::json& messages) override;

  private:
    void modern_request(const std::shared_ptr<rpc::Call>& call);
    void legacy_request(const std::shared_ptr<rpc::Call>& call);
    std::string initialize(const nlohmann::json& params);

    Service& service_;
    std::mutex mutex_;
    std::string negotiated_; ///< by `initialize`; empty before
};

} // namespace berth::mcp

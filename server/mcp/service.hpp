#pragma once

#include "server/mcp/catalog.hpp"
#include "server/mcp/header_arguments.hpp"
#include "server/mcp/heartbeat.hpp"
#include "server/mcp/offers.hpp"
#include "server/mcp/repetition.hpp"
#include "server/mcp/reply.hpp"
#include "server/rpc/dispatcher.hpp"
#include "tools/tool.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace berth::mcp {

/// Runs a tool in the session of this server; what the agent must be told once is in `told` then,
/// also when it throws. `progress`: empty unless the client gave a token. `hold`: see
/// tools::Context.
using Runner = std::function<tools::Result(
    const tools::Entry& tool, const nlohmann::json& arguments, const std::stop_token& stop,
    tools::Told& told, const tools::Progress& progress, const tools::Hold& hold)>;

/// How a call ended, for the log, which must not have what it points to: that is for whoever keeps
/// secrets out of what he takes of it.
struct CallReport {
    std::string_view tool;     ///< as it was called
    std::string_view own_name; ///< of the tool, whatever the dialect calls it
    std::string_view outcome;  ///< "ok", or the error code
    std::chrono::microseconds duration;
    std::string_view message;       ///< of an error
    std::optional<int> exit_code{}; ///< of a command
    std::string fate{};             ///< the same; empty: it was none
    const tools::Entry* entry = nullptr;
    const nlohmann::json* arguments = nullptr; ///< as they came
};

/// Told how a call has ended.
using CallEnd = std::function<void(const CallReport&)>;

/// The same of a request that tells of the workspace or the session without being a tool's call:
/// whoever may not call a tool must not read beside it without a trace.
struct ReadReport {
    std::string_view method;
    std::string_view uri;     ///< of resources/read, as far as there is one; else empty
    std::string_view outcome; ///< "ok", or the error code
    std::chrono::microseconds duration;
};

using ReadEnd = std::function<void(const ReadReport&)>;

struct Configuration {
    Identity identity;
    Catalog catalog;
    /// Those in force; called for each request, by any thread.
    std::function<std::shared_ptr<const tools::Settings>()> settings;
    std::function<std::string(const tools::Entry&)> describe;
    std::function<std::string()> instructions;
    /// Whether what `describe` says holds as long as the settings: then it is asked once for each,
    /// else each time, for it tells why no sandbox can be made at the moment.
    std::function<bool()> lasting = [] { return true; };
    Runner run;
    /// Takes the notices of a reply that was not sent, because its call had been cancelled.
    std::function<void(tools::Told told)> untold = [](const auto&) {};
    /// The same of one that was sent, and whose reader went away before it; also where it told of
    /// nothing: what it was the result of is known to nobody.
    std::function<void(tools::Told told)> unread = [](const auto&) {};
    /// Told of each call before its tool runs; what it gives is called once it has ended, by the
    /// same thread. Neither may throw.
    std::function<CallEnd(const tools::Entry& tool)> begin;
    /// The same of each such request. Empty: nobody is told.
    std::function<ReadEnd()> begin_read{};
    std::chrono::milliseconds progress_interval = std::chrono::seconds(8);
    std::shared_ptr<Resources> resources{}; ///< null: there are none
    std::vector<Prompt> prompts{};
    std::vector<ProtocolTool> protocol_tools{}; ///< sorted by name; listed behind the catalog
    /// resources/subscribe and, false, /unsubscribe; empty: they are not offered.
    std::function<void(const std::string& uri, bool wanted)> subscribe{};
};

/// The methods of MCP; the same for every peer and both eras. Thread-safe.
class Service {
  public:
    explicit Service(Configuration configuration);

    [[nodiscard]] std::string discover();
    /// `version`: the one that was negotiated.
    [[nodiscard]] std::string initialize(const std::string& version);
    /// `with_icons`: the client knows of them.
    [[nodiscard]] std::string list(const nlohmann::json& params, Era era, bool with_icons);
    /// `repetition`: of the caller.
    void call(const RequestContext& context, Repetition& repetition);
    /// Answers any other method that has to do with what is offered.
    void answer(const RequestContext& context);
    /// Whether there is anything for that method, which has_method().
    [[nodiscard]] bool offers(std::string_view method) const noexcept;
    /// Throws ProtocolError for a tool that a client with these cannot call.
    void check_capabilities(const std::string& tool, const nlohmann::json& capabilities) const;
    [[nodiscard]] const std::vector<HeaderArgument>&
    header_arguments(const std::string& tool) const;
    /// The result of a call that was not made. `tool`: which was called, as far as that is known.
    [[nodiscard]] std::string refusal(const Error& why, Era era, const std::string& tool) const;

  private:
    /// A text as JSON, and whether it may be kept.
    struct Text {
        std::string json;
        bool lasting = false;
    };

    /// That may be kept, and the settings that it was made by.
    struct KeptText {
        std::string json;
        std::shared_ptr<const tools::Settings> made_by;
    };

    [[nodiscard]] std::string instructions(); ///< as JSON text
    [[nodiscard]] Text tools_text(bool with_icons);
    [[nodiscard]] const tools::Entry& requested_tool(const nlohmann::json& params) const;
    /// What a tool that there is not was probably meant to be, else those there are, for the end of
    /// a message.
    [[nodiscard]] std::string known_as(const std::string& wanted) const;
    [[nodiscard]] const ProtocolTool* protocol_tool(const nlohmann::json& params) const;
    void call(const ProtocolTool& tool, const RequestContext& context);
    void run(const RequestContext& context, const tools::Entry& tool, Repetition& repetition,
             const tools::Progress& progress);
    [[nodiscard]] std::string capabilities(Era era) const;
    [[nodiscard]] std::string result_for(const RequestContext& context);
    /// Of a request whose end is told.
    void answer_told(const RequestContext& context);
    [[nodiscard]] std::string subscribe(const RequestContext& context, bool wanted);

    Configuration configuration_;
    std::mutex mutex_;
    /// Without and with icons; guarded by mutex_.
    std::array<KeptText, 2> tools_texts_;
    std::map<std::string, std::vector<HeaderArgument>>
        header_arguments_;   ///< of tools that have some
    bool completes_ = false; ///< whether anything that is offered has arguments to complete
    Heartbeat heartbeat_;
};

/// Whether requests of that method are answered with anything but that there is none such: what
/// HTTP says by its status too.
[[nodiscard]] bool has_method(Era era, std::string_view method) noexcept;

/// One client: decides the era of each message and routes it.
class Connection final : public rpc::Handler {
  public:
    explicit Connection(Service& service);

    void request(const std::shared_ptr<rpc::Call>& call) override;
    void notification(const rpc::Message& message, rpc::Dispatcher& dispatcher) override;
    /// Of a tool's call only: a model sees results, but not errors of the protocol.
    [[nodiscard]] std::string refusal(const rpc::Message& message, const Error& why) override;
    [[nodiscard]] bool accepts_batch(const nlohmann::json& messages) override;

  private:
    [[nodiscard]] std::string initialize(const nlohmann::json& params);
    [[nodiscard]] std::string set_level(const nlohmann::json& params);
    [[nodiscard]] Client client();

    Service& service_;
    std::mutex mutex_;       ///< guards what follows, of the older revisions
    std::string negotiated_; ///< by `initialize`; empty before
    Client client_;          ///< what it has said of itself there and by logging/setLevel
    Repetition repetition_;
};

} // namespace berth::mcp

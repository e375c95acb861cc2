#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/session/session_manager.hpp"
#include "sandbox/workspace/store.hpp"
#include "server/mcp/service.hpp"
#include "server/options/live_settings.hpp"
#include "server/options/options.hpp"
#include "server/unread_notices.hpp"
#include "tools/tool.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace berth::server {

/// Throws Error(invalid_argument) for tools that do not exist.
[[nodiscard]] mcp::Catalog select_tools(const Options& options);

/// Gives those of the tools that are in force at that moment. Takes locks and looks at files, so
/// only who needs them asks.
using SettingsNow = std::function<std::shared_ptr<const tools::Settings>()>;

/// Told of each call before it runs, with the options of its session; what it gives is told how it
/// ended, beside the log. By many threads, each at its request still. Must not throw.
using CallObserver =
    std::function<mcp::CallEnd(const Options&, const SettingsNow&, const tools::Entry&)>;

/// The same of requests that read of workspace or session beside the tools.
using ReadObserver = std::function<mcp::ReadEnd(const Options&)>;

/// Those who are told; empty: nobody.
struct Observers {
    CallObserver call{};
    ReadObserver read{};
};

/// Everything that answers calls, put together from the options. Makes no machine by itself.
class Application {
  public:
    /// Throws Error(invalid_argument) for tools that do not exist.
    /// `live`: null where the settings stay as they are. `extend`: changes what is offered.
    Application(Options options, std::shared_ptr<sandbox::Backend> backend,
                std::unique_ptr<LiveSettings> live = nullptr, Observers observers = {},
                const std::function<void(mcp::Configuration&)>& extend = {});
    ~Application();
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    /// What it was started with.
    [[nodiscard]] const Options& options() const noexcept { return *options_; }

    [[nodiscard]] const mcp::Catalog& catalog() const noexcept { return catalog_; }

    [[nodiscard]] session::SessionManager& sessions() noexcept { return sessions_; }

    [[nodiscard]] mcp::Service& service() noexcept { return *service_; }

  private:
    [[nodiscard]] tools::Result run(const tools::Entry& tool, const nlohmann::json& arguments,
                                    const std::stop_token& stop, tools::Told& told,
                                    const tools::Progress& progress, const tools::Hold& hold);
    [[nodiscard]] session::Settings session_settings();
    [[nodiscard]] std::string instructions();
    /// Null: there are none.
    [[nodiscard]] std::shared_ptr<mcp::Resources> resources();
    /// What session_info has for programs, as JSON text.
    [[nodiscard]] std::string session_text(const std::stop_token& stop);

    /// Those of this moment, also for the session's machine.
    [[nodiscard]] std::shared_ptr<const Options> present();
    /// Of the tools.
    [[nodiscard]] std::shared_ptr<const tools::Settings> settings();
    /// Of this session's sandbox. What was there once counts as there for good. `known`: where the
    /// books have been asked just now.
    [[nodiscard]] sandbox::Availability availability(const session::SessionFacts* known = nullptr);
    [[nodiscard]] bool machine_runs(const session::SessionFacts* known);

    const std::shared_ptr<const Options> options_;
    const std::unique_ptr<LiveSettings> live_;
    mcp::Catalog catalog_;
    std::mutex present_mutex_; ///< guards present_
    /// By which the sessions are; at first what the server was started with.
    std::shared_ptr<const Options> present_;
    session::SessionManager sessions_; // behind them: it asks for variables until its end
    const std::shared_ptr<UnreadNotices> unread_notices_ =
        std::make_shared<UnreadNotices>(sessions_);
    std::unique_ptr<workspace::Store> workspace_;
    std::mutex asked_mutex_;           ///< guards what follows: one asks, the others wait for it
    std::optional<bool> machine_runs_; ///< when that was first known for certain
    BootClock::time_point ask_again_;  ///< whether it runs, until that is known
    std::unique_ptr<mcp::Service> service_;
};

} // namespace berth::server

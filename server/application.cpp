#include "server/application.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "server/guide.hpp"
#include "server/instructions.hpp"
#include "server/log.hpp"
#include "server/own_resources.hpp"
#include "server/recent_errors.hpp"
#include "server/rpc/json_text.hpp"
#include "server/version.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace berth::server {
namespace {

/// The others are answers to what the agent asked, and quote it.
bool concerns_operator(std::string_view outcome)
{
    constexpr std::array<std::string_view, 5> words{"sandbox_unavailable", "session_lost",
                                                    "backend_error", "no_space", "internal"};
    return std::find(words.begin(), words.end(), outcome) != words.end();
}

void report(const Options& options, const mcp::CallReport& call)
{
    if (concerns_operator(call.outcome)) {
        remember_error(options.sessions.state_directory, {.time = std::chrono::system_clock::now(),
                                                          .code = std::string(call.outcome),
                                                          .tool = std::string(call.tool),
                                                          .session = options.session.session,
                                                          .message = std::string(call.message)});
    }
    const bool fault = call.outcome == "internal";
    log::write(fault ? log::Level::error : log::Level::debug, "call",
               {{"tool", call.tool},
                {"outcome", call.outcome},
                {"us", std::to_string(call.duration.count())},
                // Other errors quote what the agent sent.
                {"error", fault ? call.message : ""}});
}

/// Each call will say so too, to the agent; whoever looks at the log need not wait for one.
void warn_of_unavailable(const sandbox::Availability& availability)
{
    if (!availability.available) {
        log::write(log::Level::warning, "no sandbox can be made now",
                   {{"error", availability.reason}, {"hint", availability.remedy}});
    }
}

/// A client that is told of tools too late has none. What a machine's host has not said by then the
/// books say.
constexpr std::chrono::seconds look_time{1};
/// After the books could not be asked: not with each tool of a list.
constexpr std::chrono::seconds until_asked_again{10};

/// Of the machine that there is, else of the one that a call would get.
session::SessionFacts facts_of_session(const Options& options, session::SessionManager& sessions)
{
    const WaitBound bound({}, Deadline::after(look_time));
    try {
        return sessions.facts(options.session);
    } catch (const std::exception& error) {
        const auto* known = dynamic_cast<const Error*>(&error);
        log::write(log::Level::warning, "sessions cannot be used now",
                   {{"error", error.what()}, {"hint", known != nullptr ? known->hint() : ""}});
        session::SessionFacts facts;
        facts.limits = options.sessions.limits;
        facts.network = options.sessions.network;
        facts.template_name = options.sessions.template_name;
        facts.mounts = options.sessions.mounts;
        return facts;
    }
}

} // namespace

mcp::Catalog select_tools(const Options& options)
{
    const auto setting = std::ranges::find(options.settings, "tools", &Setting::key);
    return mcp::select_tools(tools::tools_in(options.dialect), options.served_tools,
                             options.read_only,
                             setting == options.settings.end() ? "" : setting->origin);
}

Application::Application(Options options, std::shared_ptr<sandbox::Backend> backend,
                         std::unique_ptr<LiveSettings> live, Observers observers,
                         const std::function<void(mcp::Configuration&)>& extend)
    : options_(std::make_shared<const Options>(std::move(options))), live_(std::move(live)),
      catalog_(select_tools(*options_)), present_(options_),
      sessions_(session_settings(), std::move(backend)),
      workspace_(workspace::make_directory_store(options_->workspace))
{
    mcp::Configuration configuration;
    configuration.identity = {.version = std::string(version),
                              .structured_content = options_->tools.structured_content,
                              .dialect = options_->dialect};
    configuration.catalog = catalog_;
    configuration.settings = [this] { return settings(); };
    configuration.describe = [this](const tools::Entry& tool) {
        return make_description(tool, *settings(), sessions_.backend(), availability());
    };
    configuration.instructions = [this] { return instructions(); };
    configuration.lasting = [this] { return availability().available; };
    configuration.untold = [this](tools::Told told) {
        sessions_.tell_again(options_->session, std::move(told));
    };
    configuration.unread = [way = unread_notices_, id = options_->session](tools::Told told) {
        way->take(id, std::move(told));
    };
    configuration.run = [this](const tools::Entry& tool, const nlohmann::json& arguments,
                               const std::stop_token& stop, tools::Told& told,
                               const tools::Progress& progress, const tools::Hold& hold) {
        return run(tool, arguments, stop, told, progress, hold);
    };
    if (observers.read) {
        configuration.begin_read = [this, observe = std::move(observers.read)] {
            return observe(*options_);
        };
    }
    configuration.begin = [this, observe = std::move(observers.call)](const tools::Entry& tool) {
        auto end = observe ? observe(*options_, [this] { return settings(); }, tool) : nullptr;
        return [this, end = std::move(end)](const mcp::CallReport& call) {
            report(*options_, call);
            if (end) {
                end(call);
            }
        };
    };
    configuration.resources = resources();
    configuration.prompts.push_back(make_guide_prompt([this] { return instructions(); }, catalog_,
                                                      options_->dialect,
                                                      !options_->session.principal.empty()));
    if (extend) {
        extend(configuration);
    }
    service_ = std::make_unique<mcp::Service>(std::move(configuration));
}

Application::~Application()
{
    unread_notices_->close();
}

std::string Application::instructions()
{
    const auto now = present();
    const auto facts = facts_of_session(*now, sessions_);
    const auto found = availability(&facts);
    warn_of_unavailable(found);
    return make_instructions(*now, facts, sessions_.backend(), found, catalog_);
}

std::shared_ptr<mcp::Resources> Application::resources()
{
    OwnResources::Sources sources;
    // An operator who leaves a tool out means what it tells.
    if (catalog_.serves("list_workspace_files")) {
        sources.workspace = workspace_.get();
        sources.principal = options_->session.principal;
    }
    if (catalog_.serves("session_info")) {
        sources.session = [this](const std::stop_token& stop) { return session_text(stop); };
    }
    return sources.are_none() ? nullptr : std::make_shared<OwnResources>(std::move(sources));
}

std::string Application::session_text(const std::stop_token& stop)
{
    tools::Told told;
    const auto tell_again = [&] {
        if (!told.is_empty()) { // for the agent, who may not be who reads this
            sessions_.tell_again(options_->session, std::move(told));
        }
    };
    try {
        const auto result = run(*tools::find_tool("session_info"), nlohmann::json::object(), stop,
                                told, {}, [](std::size_t /*bytes*/) {}); // what it holds is small
        tell_again();
        return rpc::to_text(*result.data);
    } catch (...) {
        tell_again();
        throw;
    }
}

std::shared_ptr<const Options> Application::present()
{
    if (!live_) {
        return options_;
    }
    // Under the lock, so that of two calls the one with older settings does not come last.
    const std::lock_guard lock(present_mutex_);
    auto now = live_->options();
    if (now != present_) {
        sessions_.change(now->sessions);
    }
    present_ = now;
    return now;
}

std::shared_ptr<const tools::Settings> Application::settings()
{
    auto now = present();
    const auto* const tools = &now->tools;
    return {std::move(now), tools};
}

/// What a fresh machine is set up with has the variables of that moment, as every command has.
session::Settings Application::session_settings()
{
    auto settings = options_->sessions;
    settings.setup.variables = [this] {
        const auto in_force = this->settings();
        return in_force->command_variables ? in_force->command_variables()
                                           : std::map<std::string, std::string>();
    };
    settings.setup.withheld = [this] {
        const auto in_force = this->settings();
        return in_force->withheld_secrets ? in_force->withheld_secrets()
                                          : std::map<std::string, std::string>();
    };
    return settings;
}

/// False also where nobody knows it at the moment, which is not remembered for long.
bool Application::machine_runs(const session::SessionFacts* known)
{
    const std::lock_guard lock(asked_mutex_);
    if (machine_runs_ || (known == nullptr && BootClock::now() < ask_again_)) {
        return machine_runs_.value_or(false);
    }
    const auto facts = known != nullptr ? *known : facts_of_session(*options_, sessions_);
    if (facts.is_next || (!facts.state.empty() && facts.trouble.empty())) {
        machine_runs_ = facts.is_next;
    } else {
        ask_again_ = BootClock::now() + until_asked_again;
    }
    return facts.is_next;
}

/// Where the session's machine runs its tools work, and whether another one could be made, which
/// takes most of a server's start to try, is of no interest.
sandbox::Availability Application::availability(const session::SessionFacts* known)
{
    return machine_runs(known)
               ? sandbox::Availability{.available = true, .reason = {}, .remedy = {}}
               : sessions_.backend().availability();
}

tools::Result Application::run(const tools::Entry& tool, const nlohmann::json& arguments,
                               const std::stop_token& stop, tools::Told& told,
                               const tools::Progress& progress, const tools::Hold& hold)
{
    const auto in_force = settings();
    tools::Context context{.sessions = sessions_,
                           .workspace = *workspace_,
                           .settings = *in_force,
                           .session = options_->session,
                           .anonymous = options_->session.principal.empty(),
                           .stop = stop,
                           .told = {},
                           .progress = progress,
                           .hold = hold};
    try {
        auto result = tools::run_tool(tool, context, arguments);
        told = std::move(context.told);
        return result;
    } catch (...) {
        told = std::move(context.told);
        throw;
    }
}

} // namespace berth::server

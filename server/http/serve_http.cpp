#include "server/http/serve_http.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/session/side_by_side.hpp"
#include "server/cli/print.hpp"
#include "server/ending.hpp"
#include "server/http/callers.hpp"
#include "server/http/endpoint.hpp"
#include "server/http/listener.hpp"
#include "server/http/metrics.hpp"
#include "server/http/operator_api.hpp"
#include "server/http/operator_books.hpp"
#include "server/http/operators.hpp"
#include "server/http/tenant_maker.hpp"
#include "server/http/trust_file.hpp"
#include "server/http/upkeep.hpp"
#include "server/log.hpp"
#include "server/signals.hpp"
#include "server/transport/http_server.hpp"
#include "server/version.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace berth::server::http {
namespace {

using namespace std::chrono_literals;

/// Calls are stopped at once and have until here to say how they ended.
constexpr auto drain_time = 600ms;
/// Of all callers together.
constexpr std::size_t most_calls = 1024;

/// `change` is what has changed, in words.
TrustFile::Told teller_of(const std::string& file, const std::string& change, const char* holds)
{
    return [=](const std::string& error) {
        if (error.empty()) {
            log::write(log::Level::info, change + ", and " + holds, {{"file", file}});
        } else {
            log::write(log::Level::warning, change + ", and nothing of it holds",
                       {{"file", file}, {"error", error}});
        }
    };
}

TrustFile::Told teller_of_tokens(const std::string& file)
{
    return teller_of(file, "the token file has changed", "holds");
}

/// All that one such server consists of. Never destroyed: destructors wait for calls, and the
/// process may not.
struct Service {
    explicit Service(const Making& making)
        : own_settings(making.given, process_environment(), *making.options,
                       making.tell_of_settings, making.check_on(making.backend)),
          lets_in_without_entry(making.options->http.jwt.is_wanted() ||
                                !making.options->http.unix_path.empty()),
          maker(making, own_settings, observers(making.audit)),
          callers(
              *making.options, [this](const Caller& caller) { maker.check(caller); },
              teller_of_tokens(making.options->http.token_file),
              teller_of(making.options->http.jwt.keys, "the issuer's keys have changed", "hold"),
              [this](const TokenFile::Callers& gone, const TokenFile::Callers& present) {
                  leave_gone(gone, present);
              }),
          operators(making.options->http.operator_token_file, callers,
                    teller_of_tokens(making.options->http.operator_token_file)),
          books(making, own_settings, maker),
          api({.operators = operators,
               .books = [this](const std::string& backend) -> Books& { return books.of(backend); },
               .metrics = [this] { return metrics.text(); },
               .open_metrics = making.options->http.open_metrics,
               .audit = making.audit}),
          listener(listen_on(making.options->http)), pool(most_calls),
          tenants([this](const Caller& caller,
                         const std::string& session) { return maker.make(caller, session); },
                  pool, making.options->http.idle),
          sessions(pool, making.options->http.idle),
          upkeep(making, own_settings, sessions, [this] { return books.others(); }),
          endpoint(
              {.rules = HostRules(making.options->http, listener.address),
               .identify =
                   [this](const transport::HttpHead& head, const transport::HttpSocket& socket) {
                       // An operator's token does not make a caller of him, whoever he is beside.
                       return operators.has_token(head) ? nullptr : callers.identify(head, socket);
                   },
               .tenants = tenants,
               .sessions = sessions,
               .read = making.options->rpc.read,
               .unavailable = [this] { return upkeep.unavailable(); },
               .operators = api,
               .metadata = ResourceMetadata(making.options->http.jwt)}),
          server(std::move(listener.socket), endpoint, settings_of(*making.options)),
          metrics({.backend = making.options->backend,
                   .calls = counts,
                   .server = server,
                   .workers = pool,
                   .tenants = tenants,
                   .legacy = sessions,
                   .sessions = [this] { return books.of({}).sessions.list_asked(); },
                   .unavailable = [this] { return upkeep.unavailable(); }})
    {
    }

    /// Else what was there for them would count as another client of their sessions, by whose terms
    /// these go on, for as long as it is kept for a next call.
    void leave_gone(const TokenFile::Callers& gone, const TokenFile::Callers& present)
    {
        for (const auto& caller : gone) {
            const auto owner = owner_of(*caller);
            // By an issuer's token, or as a user of this host, the same principal still comes; by
            // an entry with another number of sessions he does too, and what is left may be ended.
            if ((owner.settings.empty() && lets_in_without_entry) ||
                std::ranges::any_of(present,
                                    [&](const auto& other) { return owner_of(*other) == owner; })) {
                continue;
            }
            tenants.leave(*caller);
            sessions.leave(owner);
        }
    }

    /// What happens is counted, and written down where there is an audit log.
    Observers observers(const std::shared_ptr<AuditLog>& audit)
    {
        Observers told;
        told.call = [this, audit](const Options& options, const SettingsNow& settings,
                                  const tools::Entry& tool) {
            return counted(audit ? audit->begin(options, settings, tool) : nullptr);
        };
        if (audit) {
            told.read = [audit](const Options& options) { return audit->begin_read(options); };
        }
        return told;
    }

    /// Counts the call too. `then`: empty where nobody else is told.
    mcp::CallEnd counted(mcp::CallEnd then)
    {
        return [this, then = std::move(then)](const mcp::CallReport& call) {
            counts.add(call.own_name, call.outcome, call.duration);
            if (then) {
                then(call);
            }
        };
    }

    /// A stranger's connections are descriptors: with none left no session could be made, and no
    /// settings be read. So the limit is raised as far as it goes, and half of it is for others.
    static std::size_t connections_of(const Options& options)
    {
        constexpr std::size_t own = 200;
        rlimit limit{};
        if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
            return options.http.connections;
        }
        limit.rlim_cur = limit.rlim_max;
        (void)::setrlimit(RLIMIT_NOFILE, &limit);
        (void)::getrlimit(RLIMIT_NOFILE, &limit);
        const auto room = (std::max<std::size_t>(limit.rlim_cur, own + 64) - own) / 2;
        if (room < options.http.connections) {
            log::write(log::Level::warning,
                       "fewer connections are taken than http_connections says",
                       {{"connections", std::to_string(room)},
                        {"hint", "raise the limit of open files (ulimit -Hn, LimitNOFILE=)"}});
        }
        return std::min(room, options.http.connections);
    }

    static transport::HttpSettings settings_of(const Options& options)
    {
        transport::HttpSettings settings;
        settings.body = options.message_limit;
        settings.bodies = options.rpc.bytes_in_flight;
        settings.connections = connections_of(options);
        return settings;
    }

    CallCounts counts;
    LiveSettings own_settings; ///< of the server, not of a session
    const bool lets_in_without_entry;
    TenantMaker maker;
    Callers callers;
    Operators operators;
    OperatorBooks books;
    OperatorApi api;
    Listener listener;
    rpc::WorkerPool pool;
    Tenants tenants;
    LegacySessions sessions;
    Upkeep upkeep;
    Endpoint endpoint;
    transport::HttpServer server;
    Metrics metrics;
};

/// What ends the process is an operator who restarts a service, seldom one who wants commands to
/// stop.
void shut_down(const Making& making, Service& service)
{
    const auto deadline = Deadline::after(drain_time);
    service.server.stop();
    service.tenants.for_each([](Tenant& tenant) {
        tenant.application().sessions().leave_commands();
        tenant.dispatcher().stop();
    });
    service.sessions.stop_calls();
    while (service.server.busy() > 0 && !deadline.expired()) {
        std::this_thread::sleep_for(5ms);
    }
    // Callers come and go; what was made ahead for them has stayed.
    making.backend->leave();
    service.tenants.for_each(
        [](Tenant& tenant) { tenant.application().sessions().backend().leave(); });
    // Of machines elsewhere each takes some requests, and there is time for a few of those.
    const auto tenants = service.tenants.all();
    session::side_by_side(tenants.size(),
                          [&](std::size_t i) { tenants[i]->application().sessions().close(); });
}

/// Callers may have machines elsewhere that the server itself has not.
std::chrono::milliseconds time_to_end(const Making& making, Service& service)
{
    auto longest = server::time_to_end(*making.backend);
    service.tenants.for_each([&longest](Tenant& tenant) {
        longest = std::max(longest, server::time_to_end(tenant.application().sessions().backend()));
    });
    return longest;
}

/// Until one comes that ends the server. A terminal that has gone is no reason to stop serving
/// others, nor is a reload: what has changed is looked at with each call.
void wait_for_signal(const UniqueFd& signals)
{
    signalfd_siginfo taken{};
    do {
        pollfd waiting{.fd = signals.get(), .events = POLLIN, .revents = 0};
        while (::poll(&waiting, 1, -1) < 0) {
        }
    } while (::read(signals.get(), &taken, sizeof(taken)) == sizeof(taken) &&
             taken.ssi_signo == SIGHUP);
}

/// What a large body or answer has taken goes back to the kernel with its end. Else malloc learns
/// from the first few to keep as much for each thread, and the bound of what is held at once would
/// say little of what the process has.
void give_memory_back()
{
    constexpr int large = 256 * 1024;
    ::mallopt(M_MMAP_THRESHOLD, large);
    ::mallopt(M_TRIM_THRESHOLD, large);
}

} // namespace

void serve_http(const Making& making)
{
    give_memory_back();
    const auto signals = take_signals();
    auto& service = *new Service(making);
    cli::complain("listening on " + service.listener.url);
    log::write(log::Level::info, "serving",
               {{"version", version},
                {"backend", making.backend->name()},
                {"transport", "http"},
                {"url", service.listener.url}});
    const UniqueFd ended(::eventfd(0, EFD_CLOEXEC));
    run_detached([&] { service.server.run(); }, ended, "server failed");
    wait_for_signal(signals);
    log::write(log::Level::info, "stopping", {{"reason", "signal"}});
    remove_file(service.listener); // at once, while the socket listens: none begins there till then
    clear_away([&] { shut_down(making, service); }, time_to_end(making, service));
    close_audit_log(making.audit);
    ::_exit(0);
}

} // namespace berth::server::http

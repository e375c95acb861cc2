#include "sandbox/guest/server.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/protocol/messages.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::guest {
namespace {

/// What a server that is gone had asked for is known to have reached nobody within seconds.
constexpr std::chrono::minutes settling_time{1};

/// In a time that depends on the length alone: otherwise the token could be found byte by byte.
bool equal_secret(const std::string& a, const std::string& b) noexcept
{
    return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string range(std::uint32_t oldest, std::uint32_t newest)
{
    return oldest == newest ? std::to_string(oldest)
                            : std::to_string(oldest) + " to " + std::to_string(newest);
}

} // namespace

Server::Server(EventLoop& loop, UniqueFd listener, Credentials credentials, Handler handler,
               const PayloadBudget::Limits& limits)
    : loop_(loop), listener_(std::move(listener)), credentials_(std::move(credentials)),
      handler_(std::move(handler)), budget_(loop, limits), named_(loop),
      leases_(loop, [this](const std::string& server) {
          forget_server(server);
          if (changed_) {
              changed_();
          }
      })
{
    if (credentials_.token.empty()) {
        throw Error(ErrorCode::invalid_argument, "the guest was given no token");
    }
    loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
}

Server::~Server()
{
    changed_ = nullptr;
    gone_ = nullptr;
    loop_.cancel(resume_);
    loop_.unwatch(listener_.get());
    while (!connections_.empty()) {
        connections_.back()->close();
    }
}

std::size_t Server::connections() const noexcept
{
    return static_cast<std::size_t>(
        std::count_if(connections_.begin(), connections_.end(),
                      [](const auto& connection) { return connection->greeted(); }));
}

std::size_t Server::clients(const std::string& without) const noexcept
{
    const bool named = !without.empty();
    const auto connected =
        std::count_if(connections_.begin(), connections_.end(), [&](const auto& connection) {
            return connection->is_client() && !leases_.holds(connection->server()) &&
                   !(named && connection->server() == without);
        });
    const std::size_t own = named && leases_.holds(without) ? 1 : 0;
    return leases_.count() - own + static_cast<std::size_t>(connected);
}

bool Server::is_here(const std::string& server) const
{
    return leases_.holds(server) ||
           std::any_of(connections_.begin(), connections_.end(), [&](const auto& connection) {
               return connection->greeted() && connection->server() == server;
           });
}

/// Of one that stays for as long as it lives, the last connection's end is the word that it does
/// not: what it has begun it will not ask for again.
void Server::forget_server(const std::string& server)
{
    if (!is_here(server) && attending_.erase(server) > 0) {
        may_have_unseen_ = BootClock::now();
        was_unseen_ = false;
        named_.drop_absent([&](const std::string& other) { return other != server; });
        if (gone_) {
            gone_();
        }
    }
}

void Server::client_came(const Connection& connection)
{
    if (!connection.server().empty()) {
        attending_.insert(connection.server());
    }
    if (changed_) {
        changed_();
    }
}

void Server::accept()
{
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            pause_accepting();
        }
        return;
    }
    if (contacted_) {
        contacted_();
    }
    const auto is_new = [](const auto& connection) { return !connection->greeted(); };
    if (std::count_if(connections_.begin(), connections_.end(), is_new) >=
        static_cast<std::ptrdiff_t>(most_new_comers)) {
        const auto oldest = *std::find_if(connections_.begin(), connections_.end(), is_new);
        oldest->close();
    }
    auto connection = std::make_shared<Connection>(loop_, std::move(socket), *this);
    try {
        connection->start();
    } catch (const std::system_error&) {
        // The commands have the guest's uid and can use up what epoll may watch for it. One
        // connection breaks then, not the guest.
        return;
    }
    connections_.push_back(connection);
}

/// Out of descriptors or memory: the connection stays in the queue, and so would the event. The
/// socket stays watched, for nothing: whoever has used up what epoll may watch meanwhile, which any
/// command can, would end the guest as it watches it anew.
void Server::pause_accepting()
{
    loop_.change(listener_.get(), 0);
    loop_.cancel(resume_);
    resume_ = loop_.call_at(BootClock::now() + std::chrono::milliseconds(100),
                            [this] { loop_.change(listener_.get(), EPOLLIN); });
}

protocol::HelloReply Server::welcome(const protocol::Hello& hello)
{
    if (!equal_secret(hello.token, credentials_.token)) {
        throw Error(ErrorCode::authentication_required,
                    "the sandbox's guest does not accept this token",
                    "another server has replaced this sandbox: call again");
    }
    if (hello.generation != credentials_.generation) {
        throw Error(ErrorCode::session_lost,
                    "another machine than the one that was asked for answers at this socket",
                    "another server has replaced this sandbox: call again");
    }
    const auto& spoken = credentials_.versions;
    const std::uint32_t version = std::min(hello.newest, spoken.newest);
    if (version < std::max(hello.oldest, spoken.oldest)) {
        throw Error(ErrorCode::unsupported,
                    "the guest (" BERTH_VERSION ") speaks protocol " +
                        range(spoken.oldest, spoken.newest) + ", the server (" +
                        hello.build.substr(0, 64) + ") " + range(hello.oldest, hello.newest),
                    "end the session: a new one gets a guest of the server's version");
    }
    if (connections() >= most_connections) {
        throw Error(ErrorCode::busy, "the sandbox has too many connections",
                    "wait for other calls of this session to end");
    }
    take_word(hello);
    return {.version = version,
            .build = BERTH_VERSION,
            .generation = credentials_.generation,
            .pid = ::getpid(),
            .repeats = true};
}

/// What a server says of itself, and of what it was answered on connections that are gone.
void Server::take_word(const protocol::Hello& hello)
{
    for (const auto& name : hello.seen) {
        named_.settle(name, NamedCalls::Word::seen);
    }
    for (const auto& name : hello.declined) {
        named_.settle(name, NamedCalls::Word::declined);
    }
    for (const auto& name : hello.given_up) {
        named_.settle(name, NamedCalls::Word::given_up);
    }
    if (!hello.lease) {
        return;
    }
    if (hello.server.empty()) {
        throw Error(ErrorCode::invalid_argument, "a server that stays for a time has a name");
    }
    const auto time = Leases::bounded(*hello.lease);
    if (time.count() > 0) {
        attending_.insert(hello.server);
    } else {
        close_all_of(hello.server);
    }
    leases_.set(hello.server, time); // behind what it had: that is known
    if (changed_) {
        changed_();
    }
}

/// Of one that leaves: what carries its connections may not notice, and what it has asked for would
/// be kept for an asker that is gone.
void Server::close_all_of(const std::string& server)
{
    const auto connections = connections_; // each takes itself out of those
    for (const auto& connection : connections) {
        if (connection->greeted() && connection->server() == server) {
            connection->close();
        }
    }
}

/// Its server's time runs from here: a call may take longer than that, and whoever made it must
/// have time to say that it had the answer.
void Server::ends(const Connection& connection) noexcept
{
    const auto lease = connection.lease().value_or(std::chrono::milliseconds(0));
    if (lease.count() == 0) {
        return;
    }
    try {
        leases_.set(connection.server(), lease);
    } catch (const std::exception&) {
        return; // no memory: its time is over when the hello had it
    }
}

void Server::lost(const std::shared_ptr<Call>& call)
{
    const auto connection = call->connection();
    named_.lost(call, connection && leases_.holds(connection->server()));
}

void Server::begin(const std::shared_ptr<Call>& call, protocol::Frame request)
{
    const bool was_reading = reading_;
    if (contacted_) {
        contacted_();
    }
    if (was_reading && !reading_) {
        return; // it came too late, and has done nothing
    }
    if (request.operation == static_cast<std::uint16_t>(protocol::Operation::info)) {
        // What it lists of a server that was never said to stay is as if there were no names.
        named_.drop_absent([this](const std::string& server) { return is_here(server); });
    }
    if (!named_.take(call, request)) {
        handler_(call, std::move(request));
    }
}

std::shared_ptr<PayloadBudget::Ticket>
Server::room_for(const protocol::FrameReader::Announced& request, EventLoop::Task granted)
{
    return budget_.ask(request.operation, request.size, std::move(granted));
}

bool Server::has_unseen() noexcept
{
    if (!may_have_unseen_ || !has_unseen_) {
        return false;
    }
    const bool any = has_unseen_();
    if (!any && (was_unseen_ || BootClock::now() - *may_have_unseen_ > settling_time)) {
        may_have_unseen_.reset();
    }
    was_unseen_ = any;
    return any;
}

void Server::closed(Connection& connection) noexcept
{
    const auto found =
        std::find_if(connections_.begin(), connections_.end(),
                     [&](const auto& element) { return element.get() == &connection; });
    if (found != connections_.end()) {
        connections_.erase(found);
    }
    if (!connection.server().empty()) {
        forget_server(connection.server());
    }
    if (changed_ && connection.was_client()) {
        changed_();
    }
}

} // namespace berth::guest

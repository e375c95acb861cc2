#include "sandbox/filter/proxy/listener.hpp"

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/filter/name_question.hpp"
#include "sandbox/filter/policy.hpp"
#include "sandbox/filter/proxy/client.hpp"
#include "sandbox/filter/proxy/reporter.hpp"
#include "sandbox/protocol/filtered_network.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::filter {
namespace {

constexpr std::size_t longest_question = 1500;

/// Outlives the threads: they are not joined, and the process ends by _exit.
class Session {
  public:
    Session(const SessionSockets& sockets, const Rules& rules, const SecretBook& secrets,
            const Interception* interception, SendAllowance* allowance, int control) noexcept
        : sockets_(sockets), reporter_(control), service_{.rules = rules,
                                                          .secrets = secrets,
                                                          .reporter = reporter_,
                                                          .interception = interception,
                                                          .allowance = allowance},
          freed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
    {
        if (!freed_) {
            ::_exit(1);
        }
    }

    [[nodiscard]] bool has_room() const noexcept { return clients_ < most_clients; }

    [[nodiscard]] int freed() const noexcept { return freed_.get(); }

    void take_freed() const noexcept
    {
        eventfd_t count = 0;
        (void)::eventfd_read(freed_.get(), &count);
    }

    void accept() noexcept;
    void refuse_names() const;

  private:
    const SessionSockets& sockets_;
    const Reporter reporter_;
    const Service service_;
    const UniqueFd freed_;
    std::atomic<std::size_t> clients_ = 0;
};

protocol::Denial no_thread()
{
    return {.kind = "proxy",
            .target = "",
            .reason = "the host of this sandbox has no thread left for another connection",
            .remedy = "Use fewer connections at once, and try again in a while."};
}

void Session::accept() noexcept
{
    UniqueFd socket(
        ::accept4(sockets_.connections.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
        // It has gone already; or there is no descriptor left, and it waits until one is.
        constexpr int milliseconds = 100;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            (void)::poll(nullptr, 0, milliseconds);
        }
        return;
    }
    ++clients_;
    try {
        std::thread([this, client = socket.get()] {
            serve_client(UniqueFd(client), service_);
            --clients_;
            wake(freed_.get());
        }).detach();
        (void)socket.release();
    } catch (const std::exception&) {
        --clients_; // this client is closed, once it is told why
        reporter_.tell(no_thread());
    }
}

protocol::Denial name_denial(const std::string& name)
{
    const std::string proxy = "127.0.0.1:" + std::to_string(protocol::proxy_port);
    return {.kind = "dns",
            .target = name,
            .reason = "a program asked for the address of this name itself; in this sandbox the "
                      "proxy alone does",
            .remedy = "Have the program use the proxy: HTTP_PROXY and HTTPS_PROXY name it "
                      "(http://" +
                      proxy + "), and it speaks SOCKS too (socks5h://" + proxy + ")."};
}

/// As many as have come; whoever asks waits, and would ask again.
void Session::refuse_names() const
{
    std::array<char, longest_question> packet; // NOLINT(*-member-init): what was written to is read
    for (int i = 0; i < 64; ++i) {
        sockaddr_in from{};
        socklen_t size = sizeof from;
        auto* const address = reinterpret_cast<sockaddr*>(&from);
        const ssize_t length = ::recvfrom(sockets_.names.get(), packet.data(), packet.size(),
                                          MSG_DONTWAIT, address, &size);
        if (length < 0) {
            return;
        }
        const auto question =
            read_name_question(std::string_view(packet.data(), static_cast<std::size_t>(length)));
        if (!question) {
            continue;
        }
        reporter_.tell(name_denial(question->name));
        (void)::sendto(sockets_.names.get(), question->refusal.data(), question->refusal.size(),
                       MSG_DONTWAIT | MSG_NOSIGNAL, address, size);
    }
}

/// Nothing comes on the control socket but its end; what does come is of a guest gone bad.
bool has_ended(int control)
{
    std::array<char, 64> message{};
    const ssize_t size = ::recv(control, message.data(), message.size(), MSG_DONTWAIT);
    return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
}

} // namespace

SessionSockets receive_sockets(int control)
{
    auto message = receive_descriptors(control, 1);
    SessionSockets sockets;
    if (message.descriptors.size() == 2) {
        sockets.connections = std::move(message.descriptors[0]);
        sockets.names = std::move(message.descriptors[1]);
    }
    return sockets;
}

void serve_session(int control, const SessionSockets& sockets, const Rules& rules,
                   const SecretBook& secrets, const Interception* interception,
                   SendAllowance* allowance) noexcept
{
    Session session(sockets, rules, secrets, interception, allowance, control);
    for (;;) {
        const int connections = session.has_room() ? sockets.connections.get() : -1;
        std::array<pollfd, 4> waiting{{{control, POLLIN, 0},
                                       {session.freed(), POLLIN, 0},
                                       {sockets.names.get(), POLLIN, 0},
                                       {connections, POLLIN, 0}}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
            ::_exit(1);
        }
        if (waiting[0].revents != 0 && has_ended(control)) {
            ::_exit(0); // connections of a session that has ended are of nobody
        }
        if (waiting[1].revents != 0) {
            session.take_freed();
        }
        if (waiting[2].revents != 0) {
            session.refuse_names();
        }
        if (waiting[3].revents != 0) {
            session.accept();
        }
    }
}

} // namespace berth::filter

#include "sandbox/filter/proxy/client.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/filter/proxy/answers.hpp"
#include "sandbox/filter/proxy/dialler.hpp"
#include "sandbox/filter/proxy/forwarding.hpp"
#include "sandbox/filter/proxy/hearing.hpp"
#include "sandbox/filter/proxy/send_allowance.hpp"
#include "sandbox/filter/proxy/tunnel.hpp"
#include "sandbox/filter/request.hpp"
#include "sandbox/filter/socks.hpp"
#include "sandbox/protocol/filtered_network.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace berth::filter {
namespace {

/// For all that a client says before it is connected.
constexpr std::chrono::seconds patience_with_head{30};

protocol::Denial socks_denial(std::string reason)
{
    auto denial = denial_of(BadRequest{.reason = std::move(reason)});
    denial.remedy = "Have the program use SOCKS 5 without a name and password: "
                    "socks5h://127.0.0.1:" +
                    std::to_string(protocol::proxy_port) + ".";
    return denial;
}

class Client {
  public:
    Client(UniqueFd socket, const Service& service)
        : socket_(std::move(socket)), service_(service), stream_(socket_.get()),
          hearing_(stream_, Deadline::after(patience_with_head))
    {
    }

    void serve()
    {
        if (!hearing_.has(1)) {
            return;
        }
        const char first = hearing_.bytes().front();
        if (first == socks::version) {
            serve_socks();
        } else if (first == socks::older_version) {
            refuse_older_socks();
        } else {
            serve_http();
        }
    }

  private:
    void serve_http();
    void serve_request(Request request);
    void serve_socks();
    void refuse_older_socks();
    [[nodiscard]] std::optional<protocol::Denial> spent(const Target& target) const;

    const UniqueFd socket_;
    const Service& service_;
    PlainStream stream_;
    Hearing hearing_;
};

void Client::serve_http()
{
    try {
        if (const auto head = hearing_.head()) {
            serve_request(read_request(*head));
        }
    } catch (const BadRequest& bad) {
        refuse(hearing_, service_, bad);
    }
}

/// Before a connection that nothing could be sent over.
std::optional<protocol::Denial> Client::spent(const Target& target) const
{
    const auto* const allowance = service_.allowance;
    return allowance != nullptr && allowance->is_spent()
               ? std::optional(allowance->denial(target.to_text()))
               : std::nullopt;
}

void Client::serve_request(Request request)
{
    if (auto denial = spent(request.target)) {
        refuse(hearing_, service_, std::move(*denial));
        return;
    }
    auto dialled = dial(service_.rules, request.target);
    if (dialled.denial) {
        refuse(hearing_, service_, std::move(*dialled.denial));
        return;
    }
    if (!dialled.socket) {
        hearing_.say_last(
            page(dialled.failure == Dialled::Failure::unreachable ? gateway_timeout : bad_gateway,
                 dialled.reason));
        return;
    }
    if (request.form == Request::Form::tunnel) {
        hearing_.say("HTTP/1.1 200 Connection established\r\n\r\n");
        serve_tunnel(hearing_, dialled.socket, request.target, service_);
        return;
    }
    PlainStream server(dialled.socket.get());
    forward(std::move(request), hearing_, server, /*is_tls=*/false, service_);
}

/// What it says is no HTTP, of which the rest would be waited for.
void Client::refuse_older_socks()
{
    service_.reporter.tell(socks_denial("SOCKS 4 is not spoken"));
    hearing_.say_last(socks::refusal_of_older());
}

void Client::serve_socks()
{
    const auto greeting = hearing_.message(socks::size_of_greeting);
    if (!greeting) {
        return;
    }
    const auto choice = socks::choose(*greeting);
    if (!choice.takes) {
        service_.reporter.tell(socks_denial("of SOCKS it takes no name and password"));
    }
    hearing_.say(choice.answer);
    if (!choice.takes) {
        return;
    }
    const auto request = hearing_.message(socks::size_of_request);
    if (!request) {
        return;
    }
    const auto wanted = socks::read_request(*request);
    if (!wanted.target) {
        service_.reporter.tell(denial_of(BadRequest{.reason = wanted.reason}));
        hearing_.say(socks::answer(wanted.refusal));
        return;
    }
    auto denial = spent(*wanted.target);
    auto dialled = denial ? Dialled() : dial(service_.rules, *wanted.target);
    if (denial || dialled.denial) {
        service_.reporter.tell(std::move(denial ? *denial : *dialled.denial));
        hearing_.say(socks::answer(socks::Reply::not_allowed));
        return;
    }
    if (!dialled.socket) {
        hearing_.say(socks::answer(dialled.failure == Dialled::Failure::refused
                                       ? socks::Reply::refused
                                       : socks::Reply::host_unreachable));
        return;
    }
    hearing_.say(socks::answer(socks::Reply::succeeded));
    serve_tunnel(hearing_, dialled.socket, *wanted.target, service_);
}

} // namespace

void serve_client(UniqueFd socket, const Service& service) noexcept
{
    try {
        Client(std::move(socket), service).serve();
    } catch (const std::exception&) {
        return; // of memory or descriptors there is none left: this client is closed, others go on
    }
}

} // namespace berth::filter

#include "sandbox/filter/proxy/tunnel.hpp"

#include "sandbox/filter/client_hello.hpp"
#include "sandbox/filter/proxy/answers.hpp"
#include "sandbox/filter/proxy/forwarding.hpp"
#include "sandbox/filter/proxy/interception.hpp"
#include "sandbox/filter/proxy/relay.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace berth::filter {
namespace {

/// For each handshake, and for the head of the request.
constexpr std::chrono::seconds patience_with_side{30};

class Tunnel {
  public:
    Tunnel(Hearing& client, const UniqueFd& server, const Target& target, const Service& service)
        : client_(client), server_(server.get()), target_(target), service_(service)
    {
    }

    void serve()
    {
        const bool opens_tls =
            service_.interception != nullptr && service_.secrets.is_place(target_, true);
        const bool reads_plain = service_.secrets.is_place(target_, false);
        if (!opens_tls && !reads_plain) {
            pass();
            return;
        }
        client_.renew(Deadline::after(patience_with_side)); // to dial has taken some of its time
        const auto is_tls = begins_with_tls();
        if (!is_tls) {
            return;
        }
        if (*is_tls && opens_tls) {
            open();
        } else if (!*is_tls && reads_plain) {
            serve_request(client_, server_, /*is_tls=*/false);
        } else {
            pass();
        }
    }

  private:
    void pass();
    void cut(protocol::Denial denial);
    [[nodiscard]] std::optional<bool> begins_with_tls();
    void open();
    void serve_request(Hearing& client, Stream& server, bool is_tls);
    void serve_opened(Hearing& client);

    [[nodiscard]] protocol::Denial denial(std::string reason, std::string remedy) const
    {
        return {.kind = "tls",
                .target = target_.to_text(),
                .reason = std::move(reason),
                .remedy = std::move(remedy)};
    }

    Hearing& client_;
    PlainStream server_;
    const Target& target_;
    const Service& service_;
};

void Tunnel::pass()
{
    auto end = relay({.client = client_.stream(),
                      .server = server_,
                      .head = {},
                      .from_client = client_.take_all(),
                      .body = std::nullopt,
                      .target = target_,
                      .is_tunnel = true,
                      .allowance = service_.allowance});
    if (end.denial) {
        cut(std::move(*end.denial));
    }
}

void Tunnel::cut(protocol::Denial denial)
{
    service_.reporter.tell(std::move(denial));
    // An alert of TLS, unrecognized_name: else it would look like a broken network.
    client_.say(std::string_view("\x15\x03\x03\x00\x02\x02\x70", 7));
}

/// Nothing: it may not go on, or nothing comes.
std::optional<bool> Tunnel::begins_with_tls()
{
    for (;;) {
        if (client_.bytes().empty() && !client_.read_more()) {
            return std::nullopt;
        }
        auto verdict = judge_tunnel(target_, client_.bytes());
        if (verdict.denial) {
            cut(std::move(*verdict.denial));
            return std::nullopt;
        }
        if (!verdict.undecided) {
            return read_client_hello(client_.bytes()).state != ClientHello::State::no_tls;
        }
        if (!client_.read_more()) {
            return std::nullopt;
        }
    }
}

void Tunnel::open()
{
    TlsStream tls(service_.interception->as_server(target_), client_.stream().descriptor(),
                  client_.take_all());
    const auto why = tls.shake_hands(Deadline::after(patience_with_side));
    if (!why.empty()) {
        // Mostly a client that pins certificates, or has a list of its own of whom it trusts.
        service_.reporter.tell(denial(
            "the client does not take TLS as the proxy opens it for a secret (" + why + ")",
            "Have the client trust the file that SSL_CERT_FILE names, and speak HTTP/1.1. One that "
            "pins certificates, or shows one of its own, cannot reach this place."));
        return;
    }
    Hearing opened(tls, Deadline::after(patience_with_side));
    serve_opened(opened);
}

/// The server is spoken to once there is a request, and once it is certified: before that it gets
/// nothing.
void Tunnel::serve_opened(Hearing& client)
{
    TlsStream server(service_.interception->as_client(target_), server_.descriptor(), {});
    const auto why = server.shake_hands(Deadline::after(patience_with_side));
    if (why.empty()) {
        serve_request(client, server, /*is_tls=*/true);
        return;
    }
    if (const auto wrong = server.wrong_certificate(); !wrong.empty()) {
        service_.reporter.tell(
            denial("its certificate is not trusted by the host of this sandbox (" + wrong + ")",
                   "Trying again does not help. The operator can have its issuer trusted, on the "
                   "host or by SSL_CERT_FILE of the server."));
    }
    try {
        // What it asks for is answered, not only closed: so it is heard first.
        if (client.head()) {
            client.say_last(page(bad_gateway, "TLS with " + target_.to_text() + " fails: " + why));
        }
    } catch (const BadRequest& bad) {
        refuse(client, service_, bad);
    }
}

void Tunnel::serve_request(Hearing& client, Stream& server, bool is_tls)
{
    try {
        if (const auto head = client.head()) {
            forward(read_request_to(*head, target_), client, server, is_tls, service_);
        }
    } catch (const BadRequest& bad) {
        refuse(client, service_, bad);
    }
}

} // namespace

void serve_tunnel(Hearing& client, const UniqueFd& server, const Target& target,
                  const Service& service)
{
    Tunnel(client, server, target, service).serve();
}

} // namespace berth::filter

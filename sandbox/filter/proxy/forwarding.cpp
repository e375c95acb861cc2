#include "sandbox/filter/proxy/forwarding.hpp"

#include "sandbox/filter/proxy/answers.hpp"
#include "sandbox/filter/proxy/relay.hpp"
#include "sandbox/filter/secret_replacing.hpp"

#include <utility>

namespace berth::filter {

protocol::Denial denial_of(const BadRequest& bad)
{
    return {.kind = "request",
            .target = "",
            .reason = "the proxy does not take a request: " + bad.reason,
            .remedy = "Give the address as https://NAME/ or http://NAME/, with a name of the DNS "
                      "or an IP address in its usual form, and no dot at its end."};
}

void refuse(const Hearing& client, const Service& service, const BadRequest& bad)
{
    service.reporter.tell(denial_of(bad));
    client.say_last(page(bad.status, bad.reason));
}

void refuse(const Hearing& client, const Service& service, protocol::Denial denial)
{
    const auto text = denial.target + " is denied: " + denial.reason + ".\n" + denial.remedy;
    service.reporter.tell(std::move(denial));
    client.say_last(page(denied_status, text));
}

void forward(Request request, Hearing& client, Stream& server, bool is_tls, const Service& service)
{
    const auto secrets = service.secrets.replacements(request.target, is_tls);
    if (auto denial = put_secrets_in(request, secrets)) {
        refuse(client, service, std::move(*denial));
        return;
    }
    auto end = relay({.client = client.stream(),
                      .server = server,
                      .head = head_of(request),
                      .from_client = client.take_all(),
                      .body = Body(request.body),
                      .target = request.target,
                      .allowance = service.allowance});
    if (end.denial && !end.answered) {
        refuse(client, service, std::move(*end.denial));
    } else if (end.denial) {
        service.reporter.tell(std::move(*end.denial));
    }
}

} // namespace berth::filter

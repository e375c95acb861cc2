#include "sandbox/filter/proxy/forwarding.hpp"

#include "sandbox/filter/proxy/answers.hpp"
#include "sandbox/filter/proxy/relay.hpp"
#include "sandbox/filter/secret_replacing.hpp"

#include <utility>

namespace berth::filter {

void refuse(const Hearing& client, const Service& service, const BadRequest& bad)
{
    service.reporter.tell({.kind = "request",
                           .target = "",
                           .reason = "the proxy does not take a request: " + bad.reason,
                           .remedy = "Give the address as https://NAME/ or http://NAME/, with a "
                                     "name of the DNS or an IP address in its usual form."});
    client.say(page(bad.status, bad.reason));
}

void refuse(const Hearing& client, const Service& service, protocol::Denial denial)
{
    const auto text = denial.target + " is denied: " + denial.reason + ".\n" + denial.remedy;
    service.reporter.tell(std::move(denial));
    client.say(page(denied_status, text));
}

void forward(Request request, Hearing& client, Stream& server, bool is_tls, const Service& service)
{
    const auto secrets = service.secrets.replacements(request.target, is_tls);
    if (auto denial = put_secrets_in(request, secrets)) {
        refuse(client, service, std::move(*denial));
        return;
    }
    const auto head = head_of(request);
    auto most = request.body;
    if (most) {
        *most += head.size();
    }
    // Of one request nothing is looked at any more that a denial could come of.
    (void)relay({.client = client.stream(),
                 .server = server,
                 .from_client = head + client.take_all(),
                 .most_from_client = most,
                 .tunnel = nullptr});
}

} // namespace berth::filter

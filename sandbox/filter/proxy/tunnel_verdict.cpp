#include "sandbox/base/small_letters.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/filter/client_hello.hpp"
#include "sandbox/filter/proxy/relay.hpp"

#include <cstddef>
#include <string_view>

namespace berth::filter {
namespace {

constexpr std::uint16_t https_port = 443;

TunnelVerdict cut(const Target& target, std::string reason, std::string remedy)
{
    return {.undecided = false,
            .denial = protocol::Denial{.kind = "tls",
                                       .target = target.to_text(),
                                       .reason = std::move(reason),
                                       .remedy = std::move(remedy)}};
}

} // namespace

TunnelVerdict judge_tunnel(const Target& target, std::string_view bytes)
{
    using State = ClientHello::State;
    const auto hello = read_client_hello(bytes);
    if (hello.state == State::incomplete && bytes.size() < longest_client_hello) {
        return {.undecided = true, .denial = std::nullopt};
    }
    if (hello.state == State::no_tls) {
        return target.port == https_port
                   ? cut(target, "over port 443 goes TLS alone, and this is none",
                         "Use https:// with this port; plain HTTP is asked of the proxy as such.")
                   : TunnelVerdict{};
    }
    if (hello.state != State::read) {
        return cut(target, "the beginning of TLS (ClientHello) cannot be read",
                   "Use another client: curl, git, pip, npm and node are known to work.");
    }
    if (hello.encrypted) {
        return cut(target, "the name of the server is encrypted (ECH)",
                   "Turn ECH off in this client.");
    }
    // As long as a ClientHello it would not fit into what the guest reads of a denial.
    constexpr std::size_t longest_shown = 253;
    if (hello.server_name && in_small_letters(*hello.server_name) != target.name) {
        return cut(target,
                   "TLS asks for " + visible_beginning(*hello.server_name, longest_shown, " …") +
                       ", which is another name",
                   "Ask the proxy for the name that TLS is to reach.");
    }
    if (!hello.server_name && !target.address) {
        return cut(target, "TLS does not say which name it asks for (SNI)",
                   "Use a client that sends the name of the server.");
    }
    return {};
}

} // namespace berth::filter

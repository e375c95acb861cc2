#include "server/options/network_options.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/filter/rules.hpp"
#include "sandbox/filter/secret_rule.hpp"
#include "server/options/profiles.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace berth::server {
namespace {

/// A network of the host's has all that listens on its loopback: not what the name of a profile
/// says, so the operator does.
sandbox::Network pick_kind_of_network(const Layers& layers, const Given& given)
{
    const auto network = sandbox::network_of(layers.choice("network"));
    if (network != sandbox::Network::host) {
        return network;
    }
    const auto& said = layers.raw("network");
    if (!given.only_looks && is_built_in(said)) {
        throw Error(ErrorCode::invalid_argument,
                    said.origin + " wants a network, and that would be the host's own, with what "
                                  "listens on 127.0.0.1 there",
                    "Where sandboxes may have it, say so: --network host (BERTH_NETWORK=host); "
                    "--network filtered reaches what filter.allow names, --network none goes "
                    "without.");
    }
    return sandbox::Network::host;
}

/// The lists of what is reached by a network, which only E2B keeps; what of them it would refuse is
/// the backend's to say.
sandbox::Outbound pick_outbound(const Layers& layers, const Given& given, sandbox::Network network)
{
    sandbox::Outbound outbound{.allow = layers.raw("e2b.allow_out").items,
                               .deny = layers.raw("e2b.deny_out").items};
    const bool any = !outbound.allow.empty() || !outbound.deny.empty();
    if (!any || given.only_looks) {
        return outbound;
    }
    const auto& raw = layers.raw(outbound.allow.empty() ? "e2b.deny_out" : "e2b.allow_out");
    if (layers.choice("backend") != "e2b") {
        throw Error(ErrorCode::invalid_argument,
                    "e2b.allow_out and e2b.deny_out (" + raw.origin +
                        ") are kept by E2B alone, and the backend is " + layers.choice("backend"),
                    "Leave them out, or use --backend e2b; of a local sandbox --network filtered "
                    "keeps filter.allow.");
    }
    if (network == sandbox::Network::none) {
        throw Error(ErrorCode::invalid_argument,
                    "e2b.allow_out and e2b.deny_out (" + raw.origin +
                        ") are of a network, and there is none (network = \"none\")",
                    "Say --network host, which on E2B is the internet, or leave them out.");
    }
    if (network == sandbox::Network::filtered) {
        throw Error(ErrorCode::invalid_argument,
                    "e2b.allow_out and e2b.deny_out (" + raw.origin +
                        ") are of E2B's own network, and the network is filtered",
                    "Say in filter.allow what is reached, or say --network host.");
    }
    return outbound;
}

void require_rules(std::string_view key, const RawValue& raw, sandbox::Network network)
{
    const std::string of = std::string(key) + " (" + raw.origin + ")";
    for (const auto& item : raw.items) {
        try {
            key == "filter.private" ? filter::require_inner_range(item)
                                    : filter::require_rule(item, key == "filter.allow");
        } catch (const Error& error) {
            throw Error(ErrorCode::invalid_argument, of + ": " + error.what(), error.hint());
        }
    }
    if (!raw.items.empty() && network == sandbox::Network::host) {
        throw Error(ErrorCode::invalid_argument,
                    of + " is kept by a filtered network alone, and the network is host",
                    "Say --network filtered, or leave the rules out.");
    }
}

/// A secret that cannot go where it is for is found out now, not by a command that sends its
/// placeholder.
void require_usable(const filter::SecretRule& rule, const sandbox::Filter& network)
{
    const auto place = rule.place.site();
    if (rule.place.is_tls && !network.intercept) {
        throw Error(ErrorCode::invalid_argument,
                    "the secret " + rule.name + " can never go to " + place +
                        ": TLS is not opened, so the proxy sees no request there",
                    "Say filter.intercept = true, with which the proxy opens TLS to what "
                    "filter.secret names with https:// (docs/configuration.md says what that "
                    "breaks), or leave it out: commands have the value itself then.");
    }
    constexpr unsigned port_of_tls = 443;
    if (!rule.place.is_tls && rule.place.target.port == port_of_tls) {
        throw Error(ErrorCode::invalid_argument,
                    "the secret " + rule.name + " can never go to " + place +
                        ": over port 443 goes TLS alone",
                    "Say https://, with filter.intercept.");
    }
    const filter::Rules rules(network.allow, network.deny, network.inner);
    if (const auto denial = rules.judge(rule.place.target)) {
        throw Error(ErrorCode::invalid_argument,
                    "the secret " + rule.name + " can never go to " + place + ": " + denial->reason,
                    "Let filter.allow, filter.deny and filter.private have it, or leave it out.");
    }
}

/// Else commands would have the value itself, which is what filter.secret is to keep from them.
void require_withheld(const Layers& layers, const sandbox::Filter& rules, sandbox::Network network)
{
    const auto& raw = layers.raw("filter.secret");
    const std::string of = "filter.secret (" + raw.origin + ")";
    if (raw.items.empty()) {
        return;
    }
    if (network != sandbox::Network::filtered || layers.choice("backend") != "local") {
        const bool is_e2b = layers.choice("backend") == "e2b";
        throw Error(ErrorCode::invalid_argument,
                    of + " is kept by the proxy of a filtered network on this host alone, and " +
                        (is_e2b ? std::string("the backend is e2b, where berth has none")
                                : "the network is " + std::string(sandbox::word_of(network))),
                    std::string(is_e2b ? "Use --backend local" : "Say --network filtered") +
                        ", or leave it and the secrets that it names out.");
    }
    std::set<std::string> known;
    for (const auto& item : layers.raw("secret").items) {
        known.insert(item.substr(0, item.find('=')));
    }
    std::size_t number = 0;
    for (const auto& item : raw.items) {
        ++number;
        try {
            const auto rule = filter::parse_secret_rule(item);
            if (!known.contains(rule.name)) {
                throw Error(ErrorCode::invalid_argument,
                            "what stands before its = is the name of no secret",
                            "Say where it comes from: secret = [\"NAME=file:/PATH\"].");
            }
            require_usable(rule, rules);
        } catch (const Error& error) {
            // Not quoted: it may be the secret itself, by mistake.
            throw Error(ErrorCode::invalid_argument,
                        of + ", entry " + std::to_string(number) + ": " + error.what(),
                        error.hint());
        }
    }
}

void require_counted(const Layers& layers, const sandbox::Filter& rules, sandbox::Network network)
{
    const bool is_e2b = layers.choice("backend") == "e2b";
    if (rules.max_sent > 0 &&
        (network == sandbox::Network::host || (network == sandbox::Network::filtered && is_e2b))) {
        throw Error(
            ErrorCode::invalid_argument,
            "filter.max_sent (" + layers.raw("filter.max_sent").origin +
                ") is kept by the proxy of a filtered network on this host alone, and " +
                (is_e2b ? "the backend is e2b, where berth has none" : "the network is host"),
            std::string(is_e2b ? "Use --backend local" : "Say --network filtered") +
                ", or leave it out.");
    }
}

/// The rules of a filtered network. Of none, as a flag may say, they mean nothing.
sandbox::Filter pick_filter(const Layers& layers, const Given& given, sandbox::Network network)
{
    sandbox::Filter filter{.allow = layers.raw("filter.allow").items,
                           .deny = layers.raw("filter.deny").items,
                           .inner = layers.raw("filter.private").items,
                           .secrets = layers.raw("filter.secret").items,
                           .intercept = layers.boolean("filter.intercept"),
                           .max_sent = layers.integer<std::uint64_t>("filter.max_sent")};
    if (given.only_looks) {
        return filter;
    }
    for (const std::string_view key : {"filter.allow", "filter.deny", "filter.private"}) {
        require_rules(key, layers.raw(key), network);
    }
    require_withheld(layers, filter, network);
    require_counted(layers, filter, network);
    if (network != sandbox::Network::filtered) {
        return {};
    }
    if (filter.allow.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    "the network is filtered (" + layers.raw("network").origin +
                        "), and filter.allow names nothing",
                    "Name what may be reached, such as filter.allow = [\"pypi.org\", "
                    "\"*.pythonhosted.org\"], or say --network none.");
    }
    return filter;
}

} // namespace

std::set<std::string> withheld_secrets(const sandbox::Filter& filter)
{
    std::set<std::string> names;
    for (const auto& item : filter.secrets) {
        names.insert(item.substr(0, item.find('=')));
    }
    return names;
}

NetworkOptions pick_network(const Layers& layers, const Given& given)
{
    const auto network = pick_kind_of_network(layers, given);
    return {.network = network,
            .outbound = pick_outbound(layers, given, network),
            .filter = pick_filter(layers, given, network)};
}

} // namespace berth::server

#include "sandbox/e2b/box_network.hpp"

#include "sandbox/base/sha256.hpp"
#include "sandbox/e2b/api_json.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "sandbox/e2b/outbound_rules.hpp"
#include "sandbox/filter/address.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace berth::e2b {
namespace {

/// Resolvers for everybody, of three owners. None of Google's: with any name that is allowed E2B
/// allows 8.8.8.8 (docs/adr/0035-filtered-network-on-e2b.md).
constexpr std::array<std::string_view, 3> places{"1.1.1.1", "9.9.9.9", "208.67.222.222"};

bool is_in(const filter::Address& address, const std::vector<std::string>& list)
{
    return std::ranges::any_of(list, [&](const std::string& each) {
        const auto range = filter::Range::parse(each); // nothing: a name
        return range && range->contains(address);
    });
}

/// That the server does not know of it, and not that there is no such sandbox; nor a page of a
/// proxy on the way, which an older server's own looks like.
bool is_unknown_there(const StatusError& error, bool is_old)
{
    constexpr int no_such_path = 404;
    constexpr int no_such_method = 405;
    return error.status() == no_such_method ||
           (error.status() == no_such_path && error.code() != ErrorCode::session_lost &&
            (error.is_own() || is_old));
}

} // namespace

std::string network_mark(const BoxNetwork& network)
{
    constexpr std::size_t enough = 16;
    Sha256 hash;
    hash.update(network_body(network));
    return hash.finish().substr(0, enough);
}

void change_network(ApiClient& api, const BoxInfo& box, const BoxNetwork& network,
                    std::chrono::seconds time, const ApiClient::Right& may)
try {
    api.set_network(box.box.id, network, Deadline::after(time), {}, may);
} catch (const StatusError& error) {
    if (!is_unknown_there(error, api.is_old())) {
        throw;
    }
    const bool is_all = network.internet && network.allow_out.empty() && network.deny_out.empty();
    const auto made_for = box.metadata.find(metadata_keys::network);
    if (!is_all && (made_for == box.metadata.end() || made_for->second != network_mark(network))) {
        throw Error(ErrorCode::backend_error,
                    "E2B's server cannot change what a sandbox may reach, and this one was made to "
                    "reach something else",
                    "Nothing of this call was done, and its files are kept. Ask for the network "
                    "that it was made with, or end it with `berth sessions kill NAME --purge`.");
    }
}

std::vector<std::string> forbidden_places(const BoxNetwork& network)
{
    std::vector<std::string> forbidden;
    for (const auto place : places) {
        const auto range = filter::Range::parse(place);
        const bool denied = !network.internet || (is_in(range->base, network.deny_out) &&
                                                  !is_in(range->base, network.allow_out));
        if (denied) {
            forbidden.emplace_back(place);
        }
    }
    return forbidden;
}

} // namespace berth::e2b

// The first bytes of a tunnel through the proxy of a filtered network.

#include "sandbox/filter/client_hello.hpp"

#include "sandbox/base/small_letters.hpp"
#include "sandbox/filter/proxy/relay.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>

BERTH_FUZZ_TARGET(client_hello)
{
    using berth::fuzz::require;
    using namespace berth::filter;
    using State = ClientHello::State;
    const auto hello = read_client_hello(input);
    if (hello.state != State::incomplete) {
        const auto more = read_client_hello(std::string(input) + "more");
        require(more.state == hello.state && more.server_name == hello.server_name &&
                    more.encrypted == hello.encrypted,
                "what comes behind changes nothing");
    }
    const auto part = read_client_hello(input.substr(0, input.size() / 2));
    require(part.state == State::incomplete || part.state == hello.state,
            "what was read of less is the same");
    const auto target = target_of("example.com", 443);
    const auto verdict = judge_tunnel(*target, input);
    if (!verdict.undecided && !verdict.denial) {
        require(hello.state == State::read && !hello.encrypted && hello.server_name &&
                    berth::in_small_letters(*hello.server_name) == "example.com",
                "a tunnel that goes on has the name it was asked for");
    }
}

#pragma once

#include "sandbox/e2b/envd_client.hpp"
#include "tests/unit/e2b/loopback_server.hpp"

#include <string>
#include <utility>

namespace berth::tests {

/// An envd that does what a test wants, and a client of it.
struct EnvdFixture {
    explicit EnvdFixture(LoopbackServer::Serve serve, e2b::EnvdTimes times = {},
                         std::string version = "0.6.13")
        : server(std::move(serve)), client(http,
                                           {.endpoint = server.endpoint(),
                                            .sandbox_id = "iabc",
                                            .token = "ea_0123456789",
                                            .version = std::move(version)},
                                           times)
    {
    }

    LoopbackServer server;
    e2b::HttpClient http{e2b::HttpSettings{}};
    e2b::EnvdClient client;
};

} // namespace berth::tests

// What sandboxes reach, among the options.

#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace berth;
using berth::server::tests::Bench;
using berth::server::tests::has;

TEST_CASE("a filtered network with its rules")
{
    Bench bench;
    bench.file("network = \"filtered\"\n[filter]\nallow = [\"pypi.org\", \"*.example.com:443\"]\n"
               "deny = [\"bad.example.com\"]\nprivate = [\"10.0.0.0/8\"]\n");
    const auto options = bench.make();
    CHECK(options.sessions.network == sandbox::Network::filtered);
    CHECK(options.sessions.filter.allow ==
          std::vector<std::string>{"pypi.org", "*.example.com:443"});
    CHECK(options.sessions.filter.deny == std::vector<std::string>{"bad.example.com"});
    CHECK(options.sessions.filter.inner == std::vector<std::string>{"10.0.0.0/8"});
    CHECK(options.sessions.asked.contains("filter.allow"));
    // Whoever says none goes without, whatever the file says.
    bench.given.values["network"] = {.items = {"none"}, .origin = "flag --network"};
    CHECK(bench.make().sessions.network == sandbox::Network::none);
    bench.given.values["network"].items = {"host"};
    CHECK(has(bench.refusal(), "is kept by a filtered network alone"));
}

TEST_CASE("rules that are none stop the start, and name the setting")
{
    Bench bench;
    const std::string head = "network = \"filtered\"\n[filter]\nallow = [\"pypi.org\"]\n";
    bench.file("network = \"filtered\"\n");
    CHECK(has(bench.refusal(), "filter.allow names nothing"));
    bench.file("network = \"filtered\"\n[filter]\nallow = [\"https://pypi.org/\"]\n");
    CHECK(has(bench.refusal(), "filter.allow ("));
    CHECK(has(bench.refusal(), "it is a URL"));
    bench.file(head + "deny = [\"a:b\"]\n");
    CHECK(has(bench.refusal(), "filter.deny ("));
    bench.file(head + "private = [\"169.254.0.0/16\"]\n");
    CHECK(has(bench.refusal(), "filter.private ("));
    bench.given.only_looks = true; // cleaning up needs no rules
    CHECK(bench.refusal().empty());
}

TEST_CASE("lists of E2B's own network are none of a filtered one")
{
    Bench bench;
    const std::string head = "backend = \"e2b\"\nnetwork = \"filtered\"\n";
    const std::string rules = "[filter]\nallow = [\"pypi.org\"]\n";
    bench.file(head + rules);
    CHECK(bench.refusal().empty());
    bench.file(head + "e2b.deny_out = [\"1.1.1.1\"]\n" + rules);
    CHECK(has(bench.refusal(), "are of E2B's own network, and the network is filtered"));
    CHECK(has(bench.refusal(), "Say in filter.allow what is reached"));
}

TEST_CASE("rules of a network that nobody asks for ask for nothing")
{
    Bench bench;
    bench.file("[filter]\nallow = [\"pypi.org\"]\n");
    const auto options = bench.make();
    CHECK(options.sessions.filter.allow.empty());
    CHECK_FALSE(options.sessions.asked.contains("filter.allow"));
}

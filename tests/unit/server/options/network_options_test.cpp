// What sandboxes reach, among the options.

#include "sandbox/base/error.hpp"
#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <map>
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

TEST_CASE("a secret that the proxy alone puts in is none of its commands' variables")
{
    Bench bench;
    bench.variables["CI_TOKEN"] = "hunter2 of ours";
    const std::string head = "network = \"filtered\"\nsecret = [\"TOKEN=env:CI_TOKEN\", "
                             "\"PLAIN=env:CI_TOKEN\"]\n[filter]\nallow = [\"a.example\"]\n";
    bench.file(head + "secret = [\"TOKEN=http://a.example\"]\n");
    const auto options = bench.make();
    using Variables = std::map<std::string, std::string>;
    CHECK(options.tools.command_variables() == Variables{{"PLAIN", "hunter2 of ours"}});
    CHECK(options.tools.withheld_secrets() == Variables{{"TOKEN", "hunter2 of ours"}});
    CHECK(options.sessions.setup.withheld() == Variables{{"TOKEN", "hunter2 of ours"}});
    CHECK(options.sessions.filter.secrets == std::vector<std::string>{"TOKEN=http://a.example"});
    CHECK(options.tools.known_secrets().size() == 2); // results are kept free of it all the same
    bench.variables["CI_TOKEN"] = "two\nlines";
    CHECK_THROWS_WITH_AS((void)bench.make().tools.withheld_secrets(),
                         doctest::Contains("a line end"), Error);
    bench.file(head);
    CHECK_FALSE(bench.make().tools.withheld_secrets);
}

TEST_CASE("a secret that could never be put in, or would go to commands after all, is refused")
{
    Bench bench;
    const std::string secret = "secret = [\"TOKEN=env:CI_TOKEN\"]\n";
    const std::string head = secret + "[filter]\nallow = [\"a.example\"]\n";
    const std::string place = "secret = [\"TOKEN=http://a.example\"]\n";
    const auto refusal = [&](const std::string& before, const std::string& after) {
        bench.file(before + head + after);
        return bench.refusal();
    };
    const std::string filtered = "network = \"filtered\"\n";
    CHECK(refusal(filtered, place).empty());
    CHECK(has(refusal("", place), "the network is none"));
    bench.file("network = \"host\"\n" + secret + "[filter]\n" + place);
    CHECK(has(bench.refusal(), "the network is host"));
    CHECK(has(refusal(filtered + "backend = \"e2b\"\n", place), "the backend is e2b"));
    CHECK(
        has(refusal(filtered, "secret = [\"OTHER=http://a.example\"]\n"), "the name of no secret"));
    CHECK(has(refusal(filtered, "secret = [\"TOKEN=http://b.example\"]\n"),
              "can never go to http://b.example"));
    CHECK(has(refusal(filtered, "secret = [\"TOKEN=http://a.example:81\"]\n"), "not its port"));
    CHECK(has(refusal(filtered, "secret = [\"TOKEN=http://a.example:443\"]\n"), "TLS alone"));
    const std::string over_tls = "secret = [\"TOKEN=https://a.example\"]\n";
    CHECK(has(refusal(filtered, over_tls), "TLS is not opened"));
    CHECK(has(bench.refusal(), "can never go to https://a.example"));
    CHECK(refusal(filtered, "intercept = true\n" + over_tls).empty());
    CHECK(has(refusal(filtered, "secret = [\"TOKEN=a.example\"]\n"), "is no place of a secret"));
    CHECK(refusal(filtered, "secret = [\"TOKEN=http://a.example?\"]\n").empty());
    for (const std::string entry : {"TOKEN=hunter2", "hunter2", "hunter2=http://a.example"}) {
        CAPTURE(entry);
        const auto text =
            refusal(filtered, "secret = [\"TOKEN=http://a.example\", \"" + entry + "\"]\n");
        CHECK(has(text, "filter.secret ("));
        CHECK(has(text, "), entry 2: "));
        CHECK_FALSE(has(text, "hunter2")); // it may be the secret itself, by mistake
    }
}

TEST_CASE("how much may be sent is kept by a proxy of this host's alone")
{
    Bench bench;
    const std::string rules = "[filter]\nallow = [\"a.example\"]\nmax_sent = \"10MiB\"\n";
    bench.file("network = \"filtered\"\n" + rules);
    CHECK(bench.make().sessions.filter.max_sent == 10 * 1024 * 1024);
    bench.file("network = \"none\"\n" + rules);
    CHECK(bench.make().sessions.filter.max_sent == 0);
    bench.file("backend = \"e2b\"\nnetwork = \"filtered\"\n" + rules);
    CHECK(has(bench.refusal(), "the backend is e2b"));
    bench.file("network = \"host\"\n[filter]\nmax_sent = \"10MiB\"\n");
    CHECK(has(bench.refusal(), "filter.max_sent ("));
    CHECK(has(bench.refusal(), "the network is host"));
}

TEST_CASE("rules of a network that nobody asks for ask for nothing")
{
    Bench bench;
    bench.file("[filter]\nallow = [\"pypi.org\"]\n");
    const auto options = bench.make();
    CHECK(options.sessions.filter.allow.empty());
    CHECK_FALSE(options.sessions.asked.contains("filter.allow"));
}

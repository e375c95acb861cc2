#include "server/options/http_options.hpp"
#include "tests/unit/server/options/options_bench.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test
using berth::server::parse_http_address;
using berth::server::tests::has;

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

struct HttpOptionsBench : server::tests::Bench {
    explicit HttpOptionsBench(Values values)
    {
        given.is_server = true;
        for (auto& [key, value] : values) {
            given.values[key] = {.items = {std::move(value)}, .origin = "flag"};
        }
    }
};

std::string refusal_of(Values values)
{
    return HttpOptionsBench(std::move(values)).refusal();
}

} // namespace

TEST_CASE("an address is one of a host, with a port")
{
    const auto parsed = [](const std::string& text) {
        const auto found = parse_http_address(text);
        return found ? found->address + " " + std::to_string(found->port) : "-";
    };
    CHECK(parsed("127.0.0.1:8931") == "127.0.0.1 8931");
    CHECK(parsed("localhost:0") == "127.0.0.1 0");
    CHECK(parsed("[::1]:65535") == "::1 65535");
    CHECK(parsed("0.0.0.0:1") == "0.0.0.0 1");
    for (const auto* none : {"",
                             ":",
                             "8931",
                             ":8931",
                             "127.0.0.1",
                             "127.0.0.1:",
                             "127.0.0.1:65536",
                             "127.0.0.1:-1",
                             "127.0.0.1:+1",
                             "127.0.0.1:1x",
                             "127.0.0.1: 1",
                             "127.0.0.1:0x1",
                             "127.1:80",
                             "example.com:80",
                             "::1:80",
                             "[127.0.0.1]:80",
                             "[::1]",
                             "[::1:80",
                             "::1]:80",
                             "[]:80",
                             "[localhost]:80",
                             "300.0.0.1:80",
                             "http://127.0.0.1:80",
                             "[fe80::1%eth0]:80"}) {
        CAPTURE(none);
        CHECK(parsed(none) == "-");
    }
}

TEST_CASE("loopback is what only this host reaches")
{
    for (const auto* address :
         {"127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "localhost:1", "[0:0:0:0:0:0:0:1]:1"}) {
        CAPTURE(address);
        CHECK(parse_http_address(address)->is_loopback());
    }
    for (const auto* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::2]:1", "[fe80::1]:1"}) {
        CAPTURE(address);
        CHECK_FALSE(parse_http_address(address)->is_loopback());
    }
}

TEST_CASE("on a port nobody is let in without a word of the operator")
{
    const auto open = refusal_of({{"http", "127.0.0.1:0"}});
    CHECK(has(open, "http = \"127.0.0.1:0\" (flag) would be served without a token file"));
    CHECK(has(open, "--token-file FILE"));
    CHECK(refusal_of({{"http", "127.0.0.1:0"}, {"insecure_no_auth", "true"}}).empty());
    CHECK(refusal_of({{"http", "127.0.0.1:0"}, {"token_file", "t"}}).empty());
    CHECK(has(
        refusal_of({{"http", "127.0.0.1:0"}, {"token_file", "t"}, {"insecure_no_auth", "true"}}),
        "Leave one of the two out"));
    CHECK(
        has(refusal_of({{"http", "example.com:80"}, {"token_file", "t"}}), "is not ADDRESS:PORT"));
}

TEST_CASE("a flag that only a server of HTTP looks at is refused without one")
{
    for (const auto& [key, value] : Values{{"token_file", "t"},
                                           {"operator_token_file", "t"},
                                           {"insecure_no_auth", "true"},
                                           {"behind_proxy", "true"}}) {
        CAPTURE(key);
        const auto told = refusal_of({{key, value}});
        CHECK(has(told, key + " (flag) is of a server of HTTP"));
        CHECK(has(told, "--http ADDRESS:PORT or --unix PATH"));
        CHECK(refusal_of({{key, value}, {"unix", "s"}}).empty());
        HttpOptionsBench call({{key, value}});
        call.given.is_server = false; // what a line for all commands has
        CHECK(call.refusal().empty());
        call.given.shows = true;
        CHECK_FALSE(call.refusal().empty());
    }
    CHECK(refusal_of({{"insecure_no_auth", "false"}}).empty());
    HttpOptionsBench elsewhere({}); // a file may be that of several servers
    elsewhere.file("token_file = \"t\"\nbehind_proxy = true\n");
    CHECK(elsewhere.refusal().empty());
}

TEST_CASE("other hosts reach a port only behind a proxy that encrypts")
{
    for (const auto* address : {"0.0.0.0:80", "[::]:80", "192.168.1.1:80"}) {
        CAPTURE(address);
        CHECK(has(refusal_of({{"http", address}, {"token_file", "t"}}), "without encryption"));
        CHECK(has(refusal_of({{"http", address}, {"insecure_no_auth", "true"}}),
                  "without encryption"));
        CHECK(
            refusal_of({{"http", address}, {"token_file", "t"}, {"behind_proxy", "true"}}).empty());
    }
}

TEST_CASE("a unix socket needs no tokens, and cannot be served beside a port")
{
    CHECK(refusal_of({{"unix", "s"}}).empty());
    CHECK(has(refusal_of({{"unix", "s"}, {"http", "127.0.0.1:0"}, {"token_file", "t"}}),
              "cannot both be served"));
    const auto options = HttpOptionsBench(Values{{"unix", "s"}, {"unix_mode", "0660"}}).make();
    CHECK(options.http.unix_path == (std::filesystem::current_path() / "s").string());
    CHECK(options.http.unix_mode == 0660);
    CHECK(options.http.is_wanted());
    for (const auto* mode : {"", "0", "600", "0777"}) {
        CAPTURE(mode);
        CHECK(refusal_of({{"unix", "s"}, {"unix_mode", mode}}).empty() == (*mode != '\0'));
    }
    for (const auto* mode : {"0888", "rw", "01000", "-1", "0600 ", "0x180"}) {
        CAPTURE(mode);
        CHECK(has(refusal_of({{"unix", "s"}, {"unix_mode", mode}}), "is no mode of a file"));
    }
}

TEST_CASE("without a word of HTTP nothing is served over it")
{
    const auto options = HttpOptionsBench(Values{}).make();
    CHECK_FALSE(options.http.is_wanted());
    CHECK(options.http.unix_mode == 0600);
    CHECK(options.http.idle == std::chrono::minutes(30));
    CHECK(options.http.connections == 1024);
    CHECK_FALSE(options.http.no_auth);
    CHECK_FALSE(options.http.behind_proxy);
    CHECK(options.http.hosts.empty());
    CHECK(options.http.origins.empty());
}

TEST_CASE("the settings of HTTP come from where all others come from")
{
    HttpOptionsBench bench(Values{{"http", "localhost:0"}});
    bench.variables["BERTH_TOKEN_FILE"] = "relative/tokens.toml";
    bench.file("http_hosts = [\"a.example.com\", \"b.example.com\"]\n"
               "http_origins = [\"https://c.example.com\"]\nhttp_idle = \"1h\"\n"
               "http_connections = 9\n");
    const auto options = bench.make();
    CHECK(options.http.address == "localhost:0");
    CHECK(options.http.token_file ==
          (std::filesystem::current_path() / "relative/tokens.toml").string());
    CHECK(options.http.hosts == std::vector<std::string>{"a.example.com", "b.example.com"});
    CHECK(options.http.origins == std::vector<std::string>{"https://c.example.com"});
    CHECK(options.http.idle == std::chrono::hours(1));
    CHECK(options.http.connections == 9);
}

TEST_CASE("there are operators only where a file names them, and it is not that of the callers")
{
    CHECK(HttpOptionsBench(Values{{"unix", "s"}}).make().http.operator_token_file.empty());
    const auto options =
        HttpOptionsBench(Values{{"unix", "s"}, {"operator_token_file", "/o.toml"}}).make();
    CHECK(options.http.operator_token_file == "/o.toml");
    CHECK(has(refusal_of({{"unix", "s"}, {"token_file", "t"}, {"operator_token_file", "./t"}}),
              "name two files"));
}

TEST_CASE("no file that says who may call, or what was done, is where a sandbox may write")
{
    const berth::tests::TemporaryDirectory folder;
    const auto mount = folder / "" + ":/mnt/m:";
    for (const auto* key : {"token_file", "operator_token_file", "audit_log"}) {
        CAPTURE(key);
        const Values values{{"unix", "/s"}, {key, folder / "file"}};
        auto writable = values;
        writable.emplace_back("mount", mount + "rw");
        CHECK(has(refusal_of(writable), "is within reach of the sandbox"));
        auto readable = values;
        readable.emplace_back("mount", mount + "ro");
        CHECK_NOTHROW((void)HttpOptionsBench(readable).make());
    }
}

TEST_CASE("an issuer is believed with an audience and keys, or not at all")
{
    Values values{{"http", "localhost:0"}, {"jwt_issuer", "i"}, {"jwt_audience", "a"}};
    CHECK(has(refusal_of(values), "jwt_keys = \"\" (default) is missing"));
    values.emplace_back("jwt_keys", "/k");
    const auto jwt = HttpOptionsBench(values).make().http.jwt; // and no token file is needed
    CHECK(jwt.is_wanted());
    CHECK(jwt.principal == "sub");
    values.emplace_back("insecure_no_auth", "true");
    CHECK(has(refusal_of(values), "is not looked at with insecure_no_auth"));
    CHECK_FALSE(HttpOptionsBench(Values{{"unix", "s"}}).make().http.jwt.is_wanted());
}

TEST_CASE("over HTTP clients name their sessions, and no flag or variable of the server does")
{
    HttpOptionsBench bench(Values{{"unix", "s"}});
    bench.variables["BERTH_SESSION"] = "mine";
    bench.variables["CLAUDE_CODE_SESSION_ID"] = "claude";
    CHECK(bench.make().session.session == "default");
    bench.given.session = "work";
    CHECK(has(bench.refusal(), "header Berth-Session"));
    bench.given.is_server = false; // one of its sessions, or a command that looks at one
    CHECK(bench.make().session.session == "work");
}

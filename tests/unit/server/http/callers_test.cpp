#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "server/http/callers.hpp"
#include "server/options/paths.hpp"
#include "tests/unit/server/options/options_bench.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject

namespace {

struct CallersBench {
    CallersBench()
    {
        std::array<int, 2> fds{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
        peer = UniqueFd(fds[1]);
        local = std::make_unique<transport::HttpSocket>(UniqueFd(fds[0]));
        remote = std::make_unique<transport::HttpSocket>(
            UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
        options.session.principal = "operator";
    }

    void with_tokens()
    {
        options.http.token_file = directory / "tokens.toml";
        std::ofstream(options.http.token_file)
            << "[tokens.a]\nprincipal = \"alice\"\nsha256 = \"" << sha256_hex("secret") << "\"\n";
        REQUIRE(::chmod(options.http.token_file.c_str(), 0600) == 0);
    }

    [[nodiscard]] Callers make() const
    {
        return {options, [](const Caller&) {}, [](const std::string&) {}};
    }

    static transport::HttpHead head(const std::string& authorization = "")
    {
        transport::HttpHead head;
        if (!authorization.empty()) {
            head.fields.emplace_back("authorization", authorization);
        }
        return head;
    }

    /// The name of who calls; "-": nobody that is known.
    std::string who(Callers& callers, const std::string& authorization, bool over_tcp = true) const
    {
        const auto caller = callers.identify(head(authorization), over_tcp ? *remote : *local);
        return caller ? caller->principal : "-";
    }

    berth::tests::TemporaryDirectory directory;
    server::Options options = server::tests::Bench().make();
    UniqueFd peer;
    std::unique_ptr<transport::HttpSocket> local;
    std::unique_ptr<transport::HttpSocket> remote;
};

} // namespace

TEST_CASE("with a token file whoever has a token is known, and nobody else on a port")
{
    CallersBench bench;
    bench.with_tokens();
    auto callers = bench.make();
    CHECK(bench.who(callers, "Bearer secret") == "alice");
    CHECK(bench.who(callers, "bEARER secret") == "alice");
    for (const auto* value : {"", "secret", "Bearer", "Bearer ", "Bearer wrong", "Basic secret",
                              "Bearersecret", "Bearer  secret", "Bearer secret x"}) {
        CAPTURE(value);
        CHECK(bench.who(callers, value) == "-");
    }
}

TEST_CASE("on a unix socket the user of the connection is known, unless it shows a token")
{
    CallersBench bench;
    const auto user = server::user_name(::geteuid());
    auto plain = bench.make();
    CHECK(bench.who(plain, "", false) == user);
    CHECK(bench.who(plain, "Bearer anything", false) == user);
    const auto caller = plain.identify(CallersBench::head(), *bench.local);
    REQUIRE(caller->account);
    CHECK(plain.identify(CallersBench::head(), *bench.local)->account == caller->account);
    bench.with_tokens();
    auto tokens = bench.make();
    CHECK(bench.who(tokens, "", false) == user);
    CHECK(bench.who(tokens, "Bearer secret", false) == "alice");
    CHECK(bench.who(tokens, "Bearer wrong", false) == "-"); // no token is better than a wrong one
}

TEST_CASE("whoever it is is let in only where that was said, as the server's own principal")
{
    CallersBench bench;
    auto closed = bench.make();
    CHECK(bench.who(closed, "") == "-");
    CHECK(bench.who(closed, "Bearer secret") == "-");
    bench.options.http.no_auth = true;
    auto open = bench.make();
    CHECK(bench.who(open, "") == "operator");
    CHECK(bench.who(open, "Bearer anything") == "operator");
    const auto caller = open.identify(CallersBench::head(), *bench.remote);
    CHECK(caller->account != nullptr);
    CHECK(open.identify(CallersBench::head(), *bench.remote) == caller);
}

TEST_CASE("without its token file no server starts")
{
    CallersBench bench;
    bench.options.http.token_file = bench.directory / "missing.toml";
    CHECK_THROWS_AS((void)bench.make(), Error);
}

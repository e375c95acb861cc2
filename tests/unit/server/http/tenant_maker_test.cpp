// What a session of HTTP is made with while somebody writes to the settings file.

#include "server/http/tenant_maker.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/server/http/making_bench.hpp"
#include "tests/unit/server/http/tenant_bench.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using namespace std::chrono_literals;
using berth::tests::caller_of;

namespace {

struct MakerBench : berth::tests::MakingBench {
    using MakingBench::MakingBench;

    [[nodiscard]] std::unique_ptr<server::Application> make_one(const Caller& caller)
    {
        return maker.make(caller, "one");
    }

    TenantMaker maker{making, *settings};
};

} // namespace

TEST_SUITE("server/http/tenant_maker")
{
    TEST_CASE("a file that is being written, is wrong or is gone forbids no less")
    {
        MakerBench bench("read_only = true\n");
        SUBCASE("empty, as who writes it anew leaves it for a moment")
        {
            bench.file("");
        }
        SUBCASE("half written")
        {
            bench.file("read_onl");
        }
        SUBCASE("gone")
        {
            std::filesystem::remove(bench.given.config_file);
        }
        CHECK(bench.make_one(caller_of("alice"))->options().read_only);
        std::this_thread::sleep_for(1100ms); // the next look is due
        CHECK(bench.make_one(caller_of("alice"))->options().read_only);
    }

    TEST_CASE("what the file says by now holds for sessions that begin")
    {
        MakerBench bench("read.limit = 10\n[profiles.few]\nread.limit = 5\n");
        auto few = caller_of("bob");
        few.settings["profile"] = "few";
        bench.change("read.limit = 20\n[profiles.few]\nread.limit = 6\n");
        CHECK(bench.make_one(caller_of("alice"))->options().tools.read_limit == 20);
        CHECK(bench.make_one(few)->options().tools.read_limit == 6);
        few.settings["profile"] = "many";
        CHECK_THROWS_AS(bench.maker.check(few), Error);
        bench.change("[profiles.many]\nread.limit = 100\n");
        bench.maker.check(few);
        CHECK(bench.make_one(few)->options().tools.read_limit == 100);
    }

    TEST_CASE("where sessions are kept and whose they are is as the server was started")
    {
        const berth::tests::TemporaryDirectory folders;
        const std::string old = folders / "old";
        MakerBench server("state_dir = \"" + old + "\"\nprincipal = \"me\"\n");
        server.change("state_dir = \"" + old + "-not\"\nprincipal = \"you\"\nread.limit = 20\n" +
                      "workspace = \"" + old + "-workspace\"\nsession.key = \"{global}\"\n" +
                      "profile = \"new\"\n[profiles.new]\nread.limit = 30\n");
        const auto tenant = server.make_one(caller_of("alice"));
        const auto& options = tenant->options();
        CHECK(options.sessions.state_directory == old);
        CHECK(options.workspace == old + "/workspace");
        CHECK(options.session.principal == "alice");
        CHECK(options.session.session == "one");
        CHECK(options.session.key.empty()); // the key is of principal and session
        CHECK(options.profile == "default");
        CHECK(options.tools.read_limit == 20);
        CHECK(server.maker.options_on("e2b").sessions.state_directory == old);
        CHECK(server.maker.options_on("e2b").session.principal == "me");
    }

    TEST_CASE("a layer that is required is required for each caller, whatever his profile")
    {
        MakerBench bench("require = [\"netns\"]\nnetwork = \"none\"\n"
                         "[profiles.open]\nnetwork = \"host\"\n"
                         "[profiles.strange]\nrequire = [\"moon\"]\n");
        const auto refusal = [&](const std::string& profile) {
            auto caller = caller_of("bob");
            caller.settings["profile"] = profile;
            return berth::tests::error_of([&] { (void)bench.make_one(caller); });
        };
        CHECK(bench.make_one(caller_of("alice")));
        CHECK(refusal("open") == ErrorCode::sandbox_unavailable);
        CHECK(refusal("strange") == ErrorCode::invalid_argument);
        CHECK(bench.make_one(caller_of("alice")));
    }

    TEST_CASE("who runs the server asks for each backend, also where it is locked for callers")
    {
        MakerBench bench("backend = \"local\"\nlocked = [\"backend\"]\n");
        CHECK(bench.maker.options_on("e2b").backend == "e2b");
    }

    TEST_CASE("a backend that a profile alone has is made as that profile says")
    {
        MakerBench bench("[profiles.far]\nbackend = \"e2b\"\ne2b.lease = \"10m\"\n");
        std::chrono::milliseconds lease{0};
        bench.making.composition.make_backend = [&](const server::Options& options) {
            lease = options.e2b_lease;
            return bench.backend;
        };
        auto caller = caller_of("bob");
        caller.settings["profile"] = "far";
        bench.maker.check(caller);
        CHECK(bench.maker.other_backends() == std::set<std::string>{"e2b"});
        (void)bench.maker.backend_of(bench.maker.options_on("e2b")); // for who clears up
        CHECK(lease == 10min);
    }

    TEST_CASE("a backend that a profile has since the server was started is seen to")
    {
        MakerBench bench("[profiles.far]\nread.limit = 5\n");
        auto caller = caller_of("bob");
        caller.settings["profile"] = "far";
        bench.maker.check(caller);
        CHECK(bench.maker.other_backends().empty());
        bench.change("[profiles.far]\nbackend = \"e2b\"\n");
        (void)bench.make_one(caller);
        CHECK(bench.maker.other_backends() == std::set<std::string>{"e2b"});
    }
}

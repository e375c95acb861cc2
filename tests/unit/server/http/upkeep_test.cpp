#include "server/http/operator_books.hpp"
#include "server/http/upkeep.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/server/http/making_bench.hpp"
#include "tests/unit/server/http/tenant_bench.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using namespace std::chrono_literals;
using berth::tests::becomes_true;

namespace {

const session::SessionId work{"ann", "work", {}};

/// A session that has ended, whose home is a second old.
struct UpkeepBench : berth::tests::MakingBench {
    UpkeepBench(const std::string& state, const std::string& retention)
        : MakingBench(text_of(state, retention)), state_directory(state)
    {
        session::SessionManager manager(making.options->sessions, backend);
        (void)manager.acquire(work);
        REQUIRE(manager.kill(work, false));
        std::this_thread::sleep_for(1100ms);
    }

    static std::string text_of(const std::string& state, const std::string& retention)
    {
        return "state_dir = \"" + state + "\"\nsession.home_retention = \"" + retention + "\"\n";
    }

    [[nodiscard]] bool has_home() const
    {
        return std::filesystem::exists(backend->home(session::key_hash(work)));
    }

    std::string state_directory;
    rpc::WorkerPool pool{4};
    LegacySessions sessions{pool, 1h};
};

} // namespace

TEST_SUITE("server/http/upkeep")
{
    TEST_CASE("homes are kept for as long as the settings file says by then")
    {
        const berth::tests::TemporaryDirectory folders;
        const std::string state = folders / "state";
        SUBCASE("which is longer than at the start")
        {
            UpkeepBench bench(state, "1s");
            bench.change(UpkeepBench::text_of(state, "30d"));
            const Upkeep upkeep(bench.making, *bench.settings, bench.sessions);
            CHECK(becomes_true([&] { return bench.backend->count("collect") > 0; }));
            std::this_thread::sleep_for(1s); // it comes to the homes at the end
            CHECK(bench.has_home());
        }
        SUBCASE("which is shorter")
        {
            UpkeepBench bench(state, "30d");
            bench.change(UpkeepBench::text_of(state, "1s"));
            const Upkeep upkeep(bench.making, *bench.settings, bench.sessions);
            CHECK(becomes_true([&] { return !bench.has_home(); }));
        }
    }

    TEST_CASE("and operators are told that time")
    {
        const berth::tests::TemporaryDirectory folders;
        const std::string state = folders / "state";
        UpkeepBench bench(state, "1h");
        TenantMaker maker(bench.making, *bench.settings);
        OperatorBooks books(bench.making, *bench.settings, maker);
        const auto first = books.of("").sessions.facts(work).why;
        bench.change(UpkeepBench::text_of(state, "30d"));
        CHECK(books.of("").sessions.facts(work).why != first);
        CHECK(&books.of("") == &books.of(bench.making.options->backend));
    }

    TEST_CASE("what is dead on a backend that only a caller's profile has is cleared up too")
    {
        const berth::tests::TemporaryDirectory folders;
        berth::tests::MakingBench bench("state_dir = \"" + (folders / "state") +
                                        "\"\n[profiles.far]\nbackend = \"e2b\"\n");
        const auto far = std::make_shared<berth::tests::FakeBackend>(folders / "far");
        bench.making.composition.make_backend = [far](const server::Options&) { return far; };
        rpc::WorkerPool pool{4};
        LegacySessions sessions{pool, 1h};
        TenantMaker maker(bench.making, *bench.settings);
        OperatorBooks books(bench.making, *bench.settings, maker);
        CHECK(books.others().empty());
        auto caller = berth::tests::caller_of("bob");
        caller.settings["profile"] = "far";
        maker.check(caller);
        const Upkeep upkeep(bench.making, *bench.settings, sessions,
                            [&] { return books.others(); });
        CHECK(becomes_true([&] { return far->count("collect") > 0; }));
        CHECK(bench.backend->count("collect") > 0);
    }
}

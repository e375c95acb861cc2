// Machines as the server sees them: made, found again, limited, ended without a trace.

#include "sandbox/base/error.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/local_machine.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

bool ends_soon(const local::MachineFacts& facts)
{
    for (int i = 0; i < 3000; ++i) {
        if (!local::open_guest(facts)) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

/// How many host uids are taken by sessions.
std::size_t claimed_uids(const std::string& state)
{
    std::error_code none; // an ordinary user has no such folder
    const std::filesystem::directory_iterator uids(state + "/uids", none);
    return static_cast<std::size_t>(std::count_if(begin(uids), end(uids), [](const auto& entry) {
        return entry.path().filename() != "lock";
    }));
}

void check_nothing_left(const local::MachineFacts& facts)
{
    CHECK_FALSE(local::open_guest(facts).valid());
    CHECK_FALSE(exists(facts.socket_path));
    for (const auto& path : facts.cgroups) {
        CAPTURE(path);
        CHECK_FALSE(exists(path));
    }
    for (const char* name : {"/tmp", "/var-tmp", "/run", "/machine-id", "/machine"}) {
        CHECK_FALSE(exists(facts.state + "/sessions/" + facts.folder + name));
    }
}

} // namespace

TEST_CASE("each machine of a session has a machine-id of its own")
{
    Bench bench;
    std::set<std::string> seen;
    for (int i = 0; i < 3; ++i) {
        bench.make();
        seen.insert(bench.run("cat /etc/machine-id"));
        bench.destroy();
    }
    CHECK(seen.size() == 3);
}

TEST_CASE("a machine is found again by its record and gone after destroy")
{
    Bench bench;
    const auto record = bench.make().record();
    const auto facts = local::facts_from(record);
    bench.run("echo kept >file; echo gone >/tmp/file");
    const auto again = bench.backend().attach(record);
    REQUIRE(again != nullptr);
    CHECK(again->layers().size() == bench.backend().attach(record)->layers().size());
    CHECK(again->record().generation == record.generation);

    bench.backend().destroy(record, false);
    CHECK(bench.backend().attach(record) == nullptr);
    check_nothing_left(facts);
    bench.backend().destroy(record, false);

    bench.make();
    CHECK(bench.run("cat file; ls /tmp") == "kept\n");
    bench.destroy(/*purge=*/true);
    CHECK_FALSE(exists(facts.state + "/sessions/" + facts.folder));
}

TEST_CASE("the record of an earlier machine does not end a later one")
{
    Bench bench;
    const auto earlier = bench.make().record();
    bench.destroy();
    bench.make();
    bench.backend().destroy(earlier, /*purge=*/true);
    CHECK(bench.run("echo alive") == "alive\n");
    auto recycled = earlier;
    recycled.data["pid"] = std::to_string(::getpid());
    bench.backend().destroy(recycled, false);
    CHECK(bench.run("echo alive") == "alive\n");
}

TEST_CASE("a record removes nothing but what bears its session's name")
{
    Bench bench;
    const auto record = bench.make().record();
    const std::string other = bench.state() + "/other";
    write_text(other + ".sock", "not its own\n");
    std::filesystem::create_directory(other);
    auto forged = record;
    forged.data["socket"] = other + ".sock";
    forged.data["cgroups"] = other;
    bench.backend().destroy(forged, false);
    CHECK(exists(other + ".sock"));
    CHECK(exists(other));

    auto of_another = bench.make().record();
    of_another.data["key_hash"] = std::string(64, 'f'); // whose session the books say it is
    bench.backend().destroy(of_another, true);
    CHECK(bench.run("echo alive") == "alive\n");
}

TEST_CASE("an unnamed session ends with its server")
{
    Bench bench;
    auto spec = Bench::spec();
    spec.ends_with_server = true;
    const auto facts = local::facts_from(bench.make(spec).record());
    CHECK(bench.run("echo alive") == "alive\n");
    CHECK(local::open_guest(facts).valid());
    bench.drop_backend();
    CHECK(ends_soon(facts));
    auto backend = local::make_backend({.state_directory = bench.state()});
    backend->destroy(local::to_record("x", spec.generation, facts), true);
    check_nothing_left(facts);
}

TEST_CASE("a guest that cannot be started leaves nothing behind")
{
    Bench bench;
    auto backend = local::make_backend({.guest_program = bench.state() + "/no-guest",
                                        .launcher_program = program("BERTH_TEST_LAUNCHER"),
                                        .state_directory = bench.state()});
    const auto spec = Bench::spec();
    try {
        (void)backend->create(spec);
        FAIL("made");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::sandbox_unavailable);
        CHECK(std::string(error.what()).find("guest's program is missing") != std::string::npos);
    }
    const std::string folder = bench.state() + "/sessions/" + spec.key_hash;
    CHECK_FALSE(exists(folder));
    CHECK(claimed_uids(bench.state()) == 0);

    bench.make();
    bench.run("echo kept >file");
    bench.destroy();
    CHECK_THROWS_AS((void)backend->create(spec), Error);
    CHECK_FALSE(exists(folder + "/tmp"));
    CHECK_FALSE(exists(folder + "/machine"));
    CHECK(read_text(folder + "/home/file") == "kept\n");
}

TEST_CASE("as root every session has a host uid of its own, for as long as its folder exists")
{
    if (!is_root()) {
        return;
    }
    Bench bench;
    const auto owner = [&](const std::string& name) {
        struct stat status{};
        const auto spec = Bench::spec(name);
        REQUIRE(::stat((bench.state() + "/sessions/" + spec.key_hash + "/home").c_str(), &status) ==
                0);
        return status.st_uid;
    };
    CHECK(in_force(bench.make(Bench::spec("one")), "uid"));
    bench.destroy();
    bench.make(Bench::spec("two"));
    CHECK(owner("one") >= 2'000'000);
    CHECK(owner("one") != owner("two"));
    const auto first = owner("one");
    bench.destroy(true);
    bench.make(Bench::spec("one"));
    CHECK(owner("one") == first);
}

TEST_CASE("a swarm hits the limits of the commands, never the guest")
{
    Bench bench;
    auto spec = Bench::spec();
    spec.limits.memory = 64ULL << 20U;
    spec.limits.pids = 40;
    auto& machine = bench.make(spec);
    if (in_force(machine, "cgroup-memory")) {
        const auto killed = bench.run("for i in $(seq 12); do (head -c 24M /dev/zero | tail -c 24M "
                                      ">/dev/null; echo ${PIPESTATUS[1]}) & done; wait");
        CHECK(killed.find("137") != std::string::npos);
        CHECK(bench.run("echo alive") == "alive\n");
    }
    if (in_force(machine, "cgroup-pids")) {
        const auto refused = bench.run("for i in $(seq 60); do sleep 30 >/dev/null 2>&1 & done");
        CHECK(refused.find("fork") != std::string::npos);
        bench.run("kill -9 -1");
        CHECK(bench.run("echo alive") == "alive\n");
    }
}

TEST_CASE("hostile temporary files are removed and lead nowhere")
{
    Bench bench;
    const std::string host = bench.directory() + "/host";
    ::mkdir(host.c_str(), 0755);
    write_text(host + "/file", "x");
    const auto facts = local::facts_from(bench.make().record());
    bench.run("cd /tmp; ln -s " + host +
              " link; mkdir closed; touch closed/f; chmod 0 closed; "
              "for i in $(seq 300); do mkdir d; cd d; done; touch f; mkfifo /run/p; "
              "touch \"/var/tmp/$(printf 'a\\nb')\"");
    bench.destroy();
    check_nothing_left(facts);
    CHECK(read_text(host + "/file") == "x");
}

TEST_CASE("layers are listed, in force or not")
{
    Bench bench;
    auto spec = Bench::spec();
    auto& machine = bench.make(spec);
    for (const char* name : {"userns", "pidns", "mountns", "netns", "seccomp", "nested-userns"}) {
        CAPTURE(name);
        CHECK(in_force(machine, name));
    }
    for (const auto& layer : machine.layers()) {
        CAPTURE(layer.name);
        CHECK((layer.in_force || !layer.detail.empty()));
    }
}

TEST_CASE("mounts that would open berth's own folders are refused")
{
    Bench bench;
    bench.make();
    bench.destroy();
    for (const std::string& source :
         {bench.directory(), bench.state(), bench.state() + "/sessions", std::string("/")}) {
        auto spec = Bench::spec();
        spec.mounts = {{source, "/mnt/x", false}};
        CAPTURE(source);
        try {
            bench.make(spec);
            FAIL("mounted");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
        }
    }
}

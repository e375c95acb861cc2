// What was interrupted, broken or closed up is still found, told apart and ended.

#include "sandbox/base/error.hpp"
#include "sandbox/local/destroy.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/record_origin.hpp"
#include "sandbox/local/session_folder.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/descriptor_limit.hpp"
#include "tests/unit/local/machine_fixture.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

std::string folder_of(const Bench& bench, const sandbox::MachineSpec& spec = Bench::spec())
{
    return bench.state() + "/sessions/" + spec.key_hash;
}

/// Another server on the same state.
std::unique_ptr<sandbox::Backend> another_server(const Bench& bench)
{
    return local::make_backend({.guest_program = program("BERTH_TEST_GUEST"),
                                .launcher_program = program("BERTH_TEST_LAUNCHER"),
                                .state_directory = bench.state()});
}

} // namespace

TEST_CASE("of a record that is lost or damaged the key is enough to end the machine")
{
    Bench bench;
    const auto facts = local::facts_from(bench.make().record());
    bench.run("echo x >file; sleep 1000 >/dev/null 2>&1 &");
    REQUIRE(local::open_guest(facts).valid());
    sandbox::MachineRecord key_only;
    key_only.backend = "local";
    key_only.data["key_hash"] = facts.folder;
    const auto server = another_server(bench);

    server->destroy(key_only, /*purge=*/false);
    CHECK_FALSE(local::open_guest(facts).valid());
    CHECK_FALSE(exists(facts.socket_path));
    for (const auto& path : facts.cgroups) {
        CHECK_FALSE(exists(path));
    }
    CHECK_FALSE(exists(folder_of(bench) + "/tmp"));
    CHECK(exists(folder_of(bench) + "/home/file"));

    server->destroy(key_only, /*purge=*/true);
    CHECK_FALSE(exists(folder_of(bench)));
    CHECK_FALSE(exists(bench.state() + "/uids/2000000"));
}

TEST_CASE("a guest that is ended before the books say so has that in its note")
{
    Bench bench;
    auto record = bench.make().record();
    const auto facts = local::facts_from(record);
    record.data["key_hash"] = facts.folder;
    sandbox::MachineRecord key_only;
    key_only.backend = "local";
    key_only.data["key_hash"] = facts.folder;
    const auto server = another_server(bench);
    CHECK(server->parting(record) == protocol::Parting::none);
    server->interrupt(key_only);
    CHECK(tests::becomes_true([&] { return server->is_gone(record); }));
    CHECK(server->parting(record) == protocol::Parting::asked);
}

TEST_CASE("a session that has closed its own folders goes on and can be ended")
{
    Bench bench;
    bench.make();
    bench.run("echo x >/tmp/file; chmod 0 /tmp /var/tmp /run");
    bench.destroy();
    CHECK_FALSE(exists(folder_of(bench) + "/tmp"));
    bench.make();
    CHECK(bench.run("ls /tmp; echo y >/tmp/file; cat /tmp/file") == "y\n");
    bench.run("mkdir closed; chmod 0 closed /tmp /var/tmp ~");
    bench.destroy(/*purge=*/true);
    CHECK_FALSE(exists(folder_of(bench)));
}

TEST_CASE("a home whose maker was killed before it gave it away is given away; another's is not")
{
    if (!is_root()) {
        return;
    }
    Bench bench;
    bench.make();
    bench.destroy();
    const std::string home = folder_of(bench) + "/home";
    REQUIRE(::chown(home.c_str(), 0, 0) == 0);
    bench.make();
    CHECK(bench.run("echo x >file && cat file") == "x\n");
    bench.destroy();
    REQUIRE(::chown(home.c_str(), 2'000'777, 2'000'777) == 0);
    try {
        bench.make();
        FAIL("made");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("belongs to uid 2000777") != std::string::npos);
    }
    CHECK(exists(home));
}

TEST_CASE("a state directory that was moved is no copy, also where its old place is made anew")
{
    const tests::TemporaryDirectory folder;
    const std::string old = folder / "old";
    const std::string now = folder / "now";
    local::MachineFacts facts;
    facts.state = old;
    facts.folder = std::string(64, 'a');
    const auto session = "/sessions/" + facts.folder;
    const auto record = local::to_record("", "", facts);
    std::filesystem::create_directories(now + session + "/home");
    CHECK_FALSE(local::is_of_copy(record, now));
    std::filesystem::create_directories(old + "/sessions"); // by a server that knows the old place
    CHECK_FALSE(local::is_of_copy(record, now));
    std::filesystem::create_directories(old + session);
    CHECK(local::is_of_copy(record, now));
    std::filesystem::rename(old, folder / "gone");
    std::filesystem::create_directory_symlink(now, old); // the same one by another name
    CHECK_FALSE(local::is_of_copy(record, now));
}

TEST_CASE("whose a machine is its note says, whatever its state directory was called")
{
    const tests::TemporaryDirectory folder;
    const std::string ours = folder / "ours";
    const std::string copy = folder / "copy";
    const std::string key(64, 'a');
    local::MachineFacts facts;
    facts.folder = key;
    for (const auto& state : {ours, copy}) {
        std::filesystem::create_directories(state + "/sessions/" + key + "/home");
        const local::SessionFolder made(state, key);
        made.set_generation("of this machine");
        const auto note = made.make_parting_note();
        facts.note = state == ours ? local::file_id(note.get()) : facts.note;
    }
    for (const auto& state : {ours, copy, folder / "gone"}) {
        CAPTURE(state);
        facts.state = state;
        const auto record = local::to_record("", "of this machine", facts);
        CHECK_FALSE(local::is_of_copy(record, ours));
        CHECK(local::is_of_copy(record, copy));
    }
    // A file system that has given its files other numbers.
    const local::SessionFolder made(copy, key);
    auto held = made.make_parting_note();
    CHECK_FALSE(local::is_of_copy(local::to_record("", "of this machine", facts), copy));
    // Nothing is known of an earlier machine than the one that is noted: its process is ended.
    held.reset();
    CHECK_FALSE(local::is_of_copy(local::to_record("", "before", facts), copy));
}

TEST_CASE(
    "a machine whose folder went elsewhere is not that of a folder which is made in its place")
{
    Bench bench;
    const auto facts = local::facts_from(bench.make().record());
    sandbox::MachineRecord key_only;
    key_only.backend = "local";
    key_only.data["key_hash"] = facts.folder;
    const auto server = another_server(bench);
    CHECK_FALSE(server->is_gone(key_only));
    const std::string elsewhere = bench.directory() + "/elsewhere";
    std::filesystem::rename(folder_of(bench), elsewhere);
    SUBCASE("empty") {}
    SUBCASE("with a copy of it")
    {
        std::filesystem::create_directory(folder_of(bench));
        for (const auto* note : {"machine", "parting", "socket"}) {
            write_text(folder_of(bench) + '/' + note, read_text(elsewhere + '/' + note));
        }
    }
    CHECK(server->is_gone(key_only));
    server->interrupt(key_only);
    server->destroy(key_only, /*purge=*/true);
    auto other = server->create(Bench::spec());
    CHECK(other->record().id != local::machine_id(bench.state(), facts.folder));
    CHECK(local::open_guest(facts).valid());
    CHECK(bench.run("echo lives") == "lives\n");
    CHECK_FALSE(server->is_gone(key_only)); // by the name that it has for itself
    server->destroy(key_only, /*purge=*/true);
    CHECK_FALSE(local::open_guest(local::facts_from(other->record())).valid());
    CHECK_FALSE(exists(local::facts_from(other->record()).socket_path));
    CHECK(bench.run("echo lives") == "lives\n");
    std::filesystem::remove_all(folder_of(bench));
    std::filesystem::rename(elsewhere, folder_of(bench));
    CHECK_FALSE(server->is_gone(key_only));
}

TEST_CASE("a home that cannot be removed keeps its uid, and that is told")
{
    Bench bench;
    const auto record = bench.make().record();
    bench.destroy();
    const std::string held = folder_of(bench) + "/home/held";
    ::mkdir(held.c_str(), 0700);
    if (!is_root() || ::mount("none", held.c_str(), "tmpfs", 0, nullptr) != 0) {
        return;
    }
    CHECK_THROWS_AS(bench.backend().destroy(record, true), Error);
    CHECK(exists(folder_of(bench) + "/uid"));
    // What is left of it has another name, so that no later machine takes it for the home.
    CHECK_FALSE(exists(folder_of(bench) + "/home"));
    REQUIRE(::umount((folder_of(bench) + "/home.removed/held").c_str()) == 0);
    bench.backend().destroy(record, true);
    CHECK_FALSE(exists(folder_of(bench)));
}

TEST_CASE("a machine is not gone because nobody can look")
{
    Bench bench;
    const auto record = bench.make().record();
    for (unsigned spare = 0; spare < 3; ++spare) {
        CAPTURE(spare);
        const tests::DescriptorLimit limit(spare);
        try {
            const auto machine = bench.backend().attach(record);
            CHECK(machine != nullptr);
        } catch (const Error& error) {
            CHECK(error.retryable());
        }
        CHECK_FALSE(bench.backend().is_gone(record));
    }
    CHECK(bench.backend().attach(record) != nullptr);
}

TEST_CASE("a host where no sandbox could be made is looked at again, one where it could is not")
{
    const Bench bench;
    const std::string launcher = bench.directory() + "/launcher";
    const auto server = [&](std::chrono::milliseconds look_again) {
        return local::make_backend({.guest_program = program("BERTH_TEST_GUEST"),
                                    .launcher_program = launcher,
                                    .state_directory = bench.state(),
                                    .look_again = look_again});
    };
    const auto soon = server(std::chrono::milliseconds(0));
    const auto late = server(std::chrono::hours(1));
    CHECK_FALSE(soon->availability().available);
    CHECK_FALSE(late->availability().available);
    REQUIRE(::symlink(program("BERTH_TEST_LAUNCHER").c_str(), launcher.c_str()) == 0);
    CHECK(soon->availability().available);
    CHECK_FALSE(late->availability().available);
    REQUIRE(::unlink(launcher.c_str()) == 0);
    CHECK(soon->availability().available);
}

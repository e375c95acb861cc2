// A machine whose process and socket cannot be seen from here, as one of another container with the
// same state directory. What a server sees of such a one is its record, the folder and its note.

#include "sandbox/base/error.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/session_folder.hpp"
#include "sandbox/local/unseen_guest.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <functional>
#include <string>

#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

struct Unseen {
    Unseen()
    {
        const auto facts = local::facts_from(bench.make().record());
        bench.run("echo kept >file; echo kept >/tmp/file");
        folder = facts.state + "/sessions/" + facts.folder;
        guest = facts.pid;
        auto hidden = facts;
        hidden.pid = 0x7ffffff0; // above every pid_max
        hidden.socket_path = bench.directory() + "/none/" + id() + ".sock";
        hidden.cgroups.clear();
        record = local::to_record(id(), Bench::spec().generation, hidden);
        record.generation = local::SessionFolder(facts.state, facts.folder).generation();
        record.data["key_hash"] = facts.folder;
        local::SessionFolder(facts.state, facts.folder).set_socket(hidden.socket_path);
        key_only.backend = "local";
        key_only.data["key_hash"] = facts.folder;
    }

    [[nodiscard]] std::string id() const { return "0123456789abcdef"; }

    void kill_guest() const { REQUIRE(::kill(guest, SIGKILL) == 0); }

    Bench bench;
    std::string folder;
    pid_t guest = -1;
    sandbox::MachineRecord record;
    sandbox::MachineRecord key_only;
};

Error refusal_of(const std::function<void()>& action)
{
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    return Error(ErrorCode::internal, "nothing was refused");
}

void check_refusal(const Error& error, const std::string& state)
{
    CHECK(error.code() == ErrorCode::sandbox_unavailable);
    CHECK(std::string(error.what()).find("in another container") != std::string::npos);
    CHECK(std::string(error.what()).find(state) != std::string::npos);
    CHECK(error.hint().find("--state-dir") != std::string::npos);
}

} // namespace

TEST_CASE_FIXTURE(Unseen, "a machine that cannot be seen from here is not gone, and nothing of it "
                          "is replaced or removed")
{
    auto& server = bench.backend();
    check_refusal(refusal_of([&] { (void)server.attach(record); }), bench.state());
    CHECK_FALSE(server.is_gone(record));
    CHECK_FALSE(server.is_gone(key_only));
    check_refusal(refusal_of([&] { server.destroy(record, /*purge=*/true); }), bench.state());
    check_refusal(refusal_of([&] { (void)server.create(Bench::spec()); }), bench.state());
    CHECK(bench.run("cat file /tmp/file") == "kept\nkept\n");
    CHECK(read_text(folder + "/home/file") == "kept\n");

    kill_guest();
    CHECK(server.attach(record) == nullptr);
    CHECK(server.is_gone(record));
    CHECK(server.is_gone(key_only));
    server.destroy(record, /*purge=*/false);
    CHECK_FALSE(exists(folder + "/tmp"));
    bench.make();
    CHECK(bench.run("cat file") == "kept\n");
}

TEST_CASE_FIXTURE(Unseen, "a record of an earlier machine than the one that lives is of one that "
                          "is gone")
{
    record.generation = "an earlier one";
    CHECK(bench.backend().attach(record) == nullptr);
    CHECK(bench.backend().is_gone(record));
    CHECK_FALSE(bench.backend().is_gone(key_only));
}

TEST_CASE_FIXTURE(Unseen, "of a machine whose process is seen and its socket is not it is told "
                          "that it can be ended")
{
    record.data["pid"] = std::to_string(guest);
    const auto error = refusal_of([&] { (void)bench.backend().attach(record); });
    CHECK(error.code() == ErrorCode::backend_error);
    CHECK_FALSE(error.retryable()); // it would never get better
    CHECK(error.hint().find("berth sessions kill") != std::string::npos);
    bench.backend().destroy(record, /*purge=*/false);
    CHECK(bench.backend().is_gone(key_only));
    CHECK(exists(folder + "/home/file"));
}

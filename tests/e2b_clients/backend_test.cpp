// Machines of the backend before the emulator: what each fault comes to, by what ran in the box and
// by the emulator's books.

#include "sandbox/base/random.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "tests/e2b_clients/cloud.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using nlohmann::json;
using tests::becomes_true;
using tests::Cloud;
using tests::Cloudy;
using tests::command;
using tests::fresh_spec;
using tests::Stage;
using tests::start_path;
using tests::wrong_of;

namespace {

json html(int status)
{
    return {{"status", status},
            {"body", "<html><head><title>" + std::to_string(status) + "</title></head></html>"},
            {"type", "text/html"}};
}

json also(json fault, const json& more)
{
    fault.update(more);
    return fault;
}

} // namespace

TEST_CASE("a call is one request, whatever has begun before it")
{
    Cloudy cloud;
    CHECK(cloud.out_of("id -un; pwd; id -u root") == "user\n/home/user\n0\n");
    CHECK(cloud.emulator.take_counts() ==
          std::map<std::string, int>{{"envd POST /process.Process/Start", 1}});
    CHECK(cloud.out_of("printf x >kept") == "");
    protocol::ReadFileRequest read;
    read.path = "kept";
    read.limit = read.budget = 1000;
    CHECK(cloud.server->read_file(read, {}).content == "x");
    CHECK(cloud.emulator.take_counts()["envd POST /process.Process/Start"] == 2);
    // Nothing that was said is in E2B's log, nor what it was said with.
    const auto log = cloud.emulator.log(cloud.record.id);
    CHECK(log.find("printf") == std::string::npos);
    CHECK(log.find(cloud.spec.token) == std::string::npos);
}

TEST_CASE("what is too long for the beginning of a call comes behind it")
{
    Cloudy cloud;
    protocol::WriteFileRequest write;
    write.path = "large";
    write.content.assign(3U << 20U, 'x');
    CHECK(cloud.server->write_file(write, {}).bytes == write.content.size());
    CHECK(cloud.out_of("wc -c <large") == "3145728\n");
}

TEST_CASE("what came behind the beginning of a call and did not arrive is sent again soon")
{
    Cloudy cloud;
    protocol::WriteFileRequest write;
    write.content.assign(500'000, 'x');
    write.mode = protocol::WriteMode::append;
    for (const auto& fault : {json{{"drop", true}}, json{{"cut_request", 10'000}}, html(503)}) {
        CAPTURE(fault.dump());
        // All of it is in a pipe by the time that it breaks.
        cloud.emulator.fault(
            also(fault, {{"path", "/process.Process/StreamInput"}, {"delay", 0.2}}));
        write.path = random_hex(4);
        const auto began = std::chrono::steady_clock::now();
        std::stop_source unused; // of a call that may be cancelled, as all of a client's
        CHECK(cloud.server->write_file(write, unused.get_token()).size == write.content.size());
        CHECK(std::chrono::steady_clock::now() - began < 15s);
    }
}

TEST_CASE("a box that sleeps is woken by the next call, with all that was in it")
{
    Cloudy cloud;
    CHECK(cloud.out_of("echo kept >file; (sleep 300 & echo $! >pid)") == "");
    SUBCASE("by E2B, behind the server's back")
    {
        cloud.emulator.act(cloud.record.id, "pause");
    }
    SUBCASE("by this server")
    {
        CHECK(cloud.server->pause().mechanism == "microvm");
        CHECK(cloud.server->machine().may_sleep());
    }
    SUBCASE("and another server looks, without waking it")
    {
        cloud.emulator.act(cloud.record.id, "pause");
        const auto machine = cloud.backend->attach(cloud.record);
        REQUIRE(machine);
        CHECK(machine->may_sleep());
    }
    CHECK(cloud.emulator.books().paused.contains(cloud.record.id));
    CHECK(cloud.out_of("cat file") == "kept\n");
    CHECK(cloud.emulator.books().running.contains(cloud.record.id));
}

TEST_CASE("a stream that breaks anywhere is one command, and its own answer")
{
    Cloudy cloud;
    const std::array faults{
        json{{"cut", 0}},     json{{"cut", 3}},          json{{"cut", 40}},
        json{{"cut", 150}},   json{{"cut", 400}},        json{{"cut", 40}, {"reset", false}},
        json{{"end", 20}},    json{{"end", 120}},        json{{"drop", true}},
        json{{"delay", 0.3}}, json{{"lose_reply", true}}};
    for (const auto& fault : faults) {
        CAPTURE(fault.dump());
        cloud.on_start(fault);
        const auto reply = cloud.server->execute(command("echo x >>ran; echo out; exit 3"), {});
        CHECK(reply.exit_code == 3);
        CHECK(reply.out.head == "out\n");
        CHECK(cloud.ran() == 1);
    }
}

TEST_CASE("a refusal has begun nothing, and is tried again while that may help")
{
    Cloudy cloud;
    const std::array passing{html(502), html(503), json{{"status", 429}, {"body", "slow down"}},
                             also(html(502), {{"then", "pause"}})};
    for (const auto& fault : passing) {
        CAPTURE(fault.dump());
        cloud.on_start(fault);
        CHECK(cloud.out_of("echo x >>ran; echo out") == "out\n");
        CHECK(cloud.ran() == 1);
    }
    cloud.on_start(json{{"status", 400},
                        {"body", {{"code", "invalid_argument"}, {"message", "no such thing"}}},
                        {"type", "application/json"}});
    const auto wrong = wrong_of([&] { (void)cloud.out_of("echo x >>ran"); });
    CHECK(wrong.kind == "error");
    CHECK(wrong.message.find("no such thing") != std::string::npos);
    CHECK(cloud.ran() == 0);
}

TEST_CASE("a box that is gone is lost for certain, and a machine that may live is not")
{
    Cloudy cloud;
    SUBCASE("it vanished")
    {
        cloud.emulator.act(cloud.record.id, "vanish");
        try {
            (void)cloud.out_of("true");
            FAIL_CHECK("it ran");
        } catch (const sandbox::Unsent& error) {
            CHECK(error.code() == ErrorCode::session_lost);
            CHECK(error.is_of_gone());
        }
        CHECK(cloud.backend->attach(cloud.record) == nullptr);
        CHECK(cloud.backend->is_gone(cloud.record));
    }
    SUBCASE("the control plane cannot be asked")
    {
        cloud.emulator.act(cloud.record.id, "pause");
        cloud.emulator.fault({{"plane", "api"}, {"times", 1}, {"status", 429}, {"body", "oops"}});
        try {
            (void)cloud.out_of("true");
            FAIL_CHECK("it ran");
        } catch (const sandbox::Unsent& error) {
            CHECK_FALSE(error.is_of_gone());
        }
        CHECK(cloud.out_of("echo there") == "there\n");
    }
    SUBCASE("it is somebody else's")
    {
        auto other = cloud.record;
        other.generation = random_hex(16);
        other.home["number"] = other.generation;
        CHECK(cloud.backend->attach(other) == nullptr);
        cloud.backend->destroy(other, true);
        CHECK(cloud.out_of("echo there") == "there\n");
    }
}

TEST_CASE("a box that may have been made is found again, and one that cannot be used is ended")
{
    Cloud cloud;
    const auto spec = fresh_spec();
    SUBCASE("its answer was lost")
    {
        cloud.emulator.fault({{"plane", "api"},
                              {"path", "/v2/sandboxes"},
                              {"method", "POST"},
                              {"lose_reply", true}});
        const auto machine = cloud.create(spec);
        CHECK(cloud.emulator.books().running == std::set{machine->record().id});
    }
    SUBCASE("it is made after a proxy has given up: there is no second one")
    {
        cloud.emulator.fault({{"plane", "api"},
                              {"path", "/v2/sandboxes"},
                              {"method", "POST"},
                              {"status", 504},
                              {"late", 1.2}});
        const auto machine = cloud.create(spec);
        CHECK(cloud.emulator.books().running == std::set{machine->record().id});
    }
    SUBCASE("it was never made")
    {
        cloud.emulator.fault({{"plane", "api"},
                              {"path", "/v2/sandboxes"},
                              {"method", "POST"},
                              {"status", 500},
                              {"body", "oops"}});
        const auto wrong = wrong_of([&] { (void)cloud.create(spec); });
        CHECK(wrong.code == ErrorCode::sandbox_unavailable);
        CHECK(wrong.retryable);
    }
    SUBCASE("its answer names another, which there is not: it is ended by its number")
    {
        cloud.emulator.fault(
            {{"plane", "api"}, {"path", "/v2/sandboxes"}, {"method", "POST"}, {"id", "iwrong"}});
        (void)wrong_of([&] { (void)cloud.create(spec); });
        const auto books = cloud.emulator.books();
        CHECK(books.running.empty());
        const auto unknown = cloud.unknown();
        CHECK(unknown.size() == 1);
        for (const auto& id : unknown) {
            CHECK(books.ended.at(id) == "killed");
            cloud.know(id);
        }
    }
    SUBCASE("the guest does not come up in it")
    {
        cloud.emulator.fault(
            {{"plane", "envd"}, {"path", "/files"}, {"status", 500}, {"body", "x"}, {"times", 0}});
        (void)wrong_of([&] { (void)cloud.create(spec); });
        cloud.emulator.clear_faults();
        const auto books = cloud.emulator.books();
        CHECK(books.running.empty());
        for (const auto& id : cloud.unknown()) {
            CHECK(books.ended.at(id) == "killed");
            cloud.know(id);
        }
    }
    SUBCASE("a connection to it breaks as the guest is put there: that step is made again")
    {
        const std::array breaks{json{{"path", "/files"}, {"drop", true}},
                                json{{"path", "/files"}, {"skip", 1}, {"cut_request", 100'000}},
                                json{{"path", "/files"}, {"lose_reply", true}},
                                json{{"path", start_path}, {"skip", 1}, {"lose_reply", true}},
                                json{{"path", start_path}, {"skip", 1}, {"cut", 60}},
                                json{{"path", start_path}, {"status", 503}}};
        for (const auto& fault : breaks) {
            CAPTURE(fault.dump());
            cloud.emulator.fault(also(fault, {{"plane", "envd"}}));
            const auto fresh = fresh_spec();
            sandbox::Sandbox server(cloud.create(fresh), fresh.token);
            CHECK(server.execute(command("echo once"), {}).out.head == "once\n");
        }
    }
    SUBCASE("the server was killed behind it: it is found by its number")
    {
        auto request = e2b::box_request(spec);
        const auto box = cloud.Stage::create(request);
        sandbox::MachineRecord record{.backend = "e2b", .id = {}, .generation = spec.generation};
        record.data["key_hash"] = spec.key_hash;
        CHECK_FALSE(cloud.backend->is_gone(record));
        cloud.backend->destroy(record, false);
        CHECK(cloud.backend->is_gone(record));
        CHECK(cloud.emulator.books().ended.at(box.id) == "killed");
    }
}

TEST_CASE("what keeps the guest from beginning is told, also where the answer to that was lost")
{
    Cloudy cloud;
    cloud.backend->destroy(cloud.record, false);
    const auto as_root = [&](const std::string& line) {
        auto envd = cloud.envd(cloud.api.connect(cloud.record.id, 60s, tests::in_time()).box);
        auto process = tests::shell(line);
        process.user = "root";
        auto stream = envd.start(process);
        REQUIRE(tests::outcome_of(stream).ended.value().exit_code == 0);
    };
    as_root("sed -i /^user:/d /etc/passwd");
    auto spec = fresh_spec();
    spec.key_hash = cloud.spec.key_hash;
    spec.home = cloud.record.home;
    const std::string why = "berth's guest could not be started in the sandbox of E2B: "
                            "berth-guest: the machine has no user user";
    const auto said = [&] {
        spec.generation = random_hex(16);
        return wrong_of([&] { (void)cloud.create(spec); }).message;
    };
    CHECK(said() == why);
    for (const auto& fault : {json{{"lose_reply", true}}, json{{"cut", 60}}}) {
        CAPTURE(fault.dump());
        cloud.on_start(fault);
        CHECK(said() == why);
        as_root("rm -f /usr/local/lib/berth/guest-*");
        cloud.on_start(also(fault, {{"skip", 1}})); // the attempt that its program has come with
        CHECK(said() == why);
    }
}

TEST_CASE(
    "a network whose change takes longer than its box was woken for is looked at all the same")
{
    Cloudy cloud(1s);
    SUBCASE("it goes on, for somebody else") {}
    SUBCASE("it sleeps by then")
    {
        cloud.emulator.act(cloud.record.id, "pause");
    }
    cloud.emulator.fault({{"plane", "api"}, {"path", "*/network"}, {"delay", 1.2}});
    const auto environment =
        cloud.backend->change_network(cloud.record, {.network = sandbox::Network::none});
    CHECK(environment.contains("PIP_RETRIES"));
    CHECK(cloud.out_of("echo there") == "there\n");
}

TEST_CASE("the time of a box is moved before it runs out, and never to an earlier one")
{
    Cloudy cloud;
    const auto first = cloud.api.info(cloud.record.id, tests::in_time()).end_at;
    auto request = command("true");
    request.timeout = 30 * 60'000; // longer than the box was given
    CHECK(cloud.server->execute(request, {}).exit_code == 0);
    CHECK(cloud.emulator.take_counts()["api POST /v2/sandboxes/{id}/connect"] == 1);
    const auto later = cloud.api.info(cloud.record.id, tests::in_time()).end_at;
    CHECK(later > first); // RFC 3339 of one zone
    CHECK(cloud.out_of("true") == "");
    CHECK(cloud.emulator.take_counts()["api POST /v2/sandboxes/{id}/connect"] == 0);
    CHECK(cloud.api.info(cloud.record.id, tests::in_time()).end_at == later);
}

TEST_CASE("a machine that shall never be paused has as long as every plan allows, again and again")
{
    auto spec = fresh_spec();
    spec.idle_pause = 0s;
    CHECK(e2b::box_request(spec).timeout == 1h);
    spec.idle_pause = 24h;
    CHECK(e2b::box_request(spec).timeout == 1h); // no plan is asked for what it refuses
    Cloud cloud;
    cloud.emulator.set({{"max_hours", 1}});
    const auto machine = cloud.create(spec);
    sandbox::Sandbox server(cloud.backend->attach(machine->record()), spec.token);
    auto request = command("true");
    request.timeout = 2 * 3600 * 1000; // more than the plan has
    CHECK(server.execute(request, {}).exit_code == 0);
    (void)cloud.emulator.take_counts();
    for (int i = 0; i < 3; ++i) {
        CHECK(server.execute(command("true"), {}).exit_code == 0);
    }
    CHECK(cloud.emulator.take_counts()["api POST /v2/sandboxes/{id}/connect"] == 0);
}

TEST_CASE("what nobody has seen is told to the next server, once")
{
    Cloudy cloud;
    CHECK(cloud.server->execute(command("echo x; exit 5"), {}).exit_code == 5);
    CHECK(cloud.server->leave(tests::in_time()) == 0U);
    cloud.server.reset();
    sandbox::Sandbox next(cloud.backend->attach(cloud.record), cloud.spec.token);
    const auto unseen = [&] {
        std::vector<int> codes;
        for (const auto& job : next.info().ended) {
            if (job.unseen) {
                codes.push_back(job.exit_code.value_or(-1));
            }
        }
        return codes;
    };
    CHECK(becomes_true([&] { return unseen() == std::vector{0, 5}; })); // nobody acknowledged them
}

TEST_CASE("without a key nothing is asked, and the error says where to get one")
{
    const auto backend = e2b::make_backend(
        {.guest_program = BERTH_GUEST_PROGRAM,
         .variables = [](const std::string&) { return std::optional<std::string>(); }});
    const auto there = backend->availability();
    CHECK_FALSE(there.available);
    CHECK(there.reason.find("E2B_API_KEY") != std::string::npos);
    CHECK(there.remedy.find("https://e2b.dev/dashboard") != std::string::npos);
    CHECK(there.remedy.find("--backend local") != std::string::npos);
    CHECK(wrong_of([&] { (void)backend->create(fresh_spec()); }).code ==
          ErrorCode::authentication_required);
}

TEST_CASE("boxes that no book may know are found where they are this installation's, and sleep")
{
    Cloud cloud;
    std::string owner = random_hex(16);
    const auto backend = e2b::make_backend({.guest_program = BERTH_GUEST_PROGRAM,
                                            .variables = e2b::process_variable,
                                            .owner = [&](bool) { return owner; }});
    const auto found = [&] {
        std::set<std::string> ids;
        for (const auto& machine : backend->find_machines(tests::in_time())) {
            CHECK(machine.slept < 60s);
            CHECK(machine.record.data.at("key_hash").size() == 64);
            ids.insert(machine.record.id);
        }
        return ids;
    };
    auto spec = fresh_spec();
    const auto machine = backend->create(spec);
    const auto& record = machine->record();
    cloud.know(record.id);
    // Of another installation with the same key, of a release that marked none, and a user's own.
    const auto others = cloud.Stage::create(e2b::box_request(fresh_spec(), random_hex(16)));
    const auto unmarked = cloud.Stage::create(e2b::box_request(fresh_spec()));
    const auto own = cloud.Stage::create({.metadata = {{"berth_owner_of_mine", owner}}});
    CHECK(found().empty()); // it runs
    for (const auto& id : {record.id, others.id, unmarked.id, own.id}) {
        cloud.emulator.act(id, "pause");
    }
    REQUIRE(becomes_true([&] { return found() == std::set{record.id}; }));
    const auto again = backend->find_machines(tests::in_time());
    owner.clear(); // no state directory has one
    (void)cloud.emulator.take_counts();
    CHECK(found().empty());
    CHECK(cloud.emulator.take_counts().empty());
    for (const auto& stray : again) {
        backend->destroy(stray.record, true);
    }
    const auto books = cloud.emulator.books();
    CHECK(books.ended.at(record.id) == "killed");
    CHECK(books.paused == std::set{others.id, unmarked.id, own.id});
}

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/handover.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;

namespace {

UniqueFd file(const std::string& content)
{
    return make_memory_file("berth-test", content);
}

std::string content_of(const UniqueFd& fd)
{
    std::array<char, 16> buffer{};
    const ssize_t size = fd ? ::pread(fd.get(), buffer.data(), buffer.size(), 0) : -1;
    return size < 0 ? "none" : std::string(buffer.data(), static_cast<std::size_t>(size));
}

} // namespace

TEST_CASE("every part of a handover comes to its own place")
{
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    UniqueFd here(pair[0]);
    const UniqueFd there(pair[1]);
    Handover sent;
    sent.listen = file("listen");
    sent.pids_events = file("pids");
    sent.cpu_stat = file("cpu");
    sent.run_cgroup = file("run");
    sent.freezer = file("freezer");
    sent.guest_tasks.push_back(file("g1"));
    sent.guest_tasks.push_back(file("g2"));
    sent.command_tasks.push_back(file("c1"));
    sent.mounts.push_back(file("m1"));
    sent.mounts.push_back(file("m2"));
    sent.home_limited = true;
    REQUIRE(send_handover(here.get(), sent));
    const auto received = receive_handover(there.get());
    REQUIRE(received.has_value());
    CHECK(content_of(received->listen) == "listen");
    CHECK(content_of(received->oom_events) == "none");
    CHECK(content_of(received->pids_events) == "pids");
    CHECK(content_of(received->cpu_stat) == "cpu");
    CHECK(content_of(received->run_cgroup) == "run");
    CHECK(content_of(received->freezer) == "freezer");
    REQUIRE(received->guest_tasks.size() == 2);
    CHECK(content_of(received->guest_tasks[1]) == "g2");
    REQUIRE(received->command_tasks.size() == 1);
    CHECK(content_of(received->command_tasks[0]) == "c1");
    REQUIRE(received->mounts.size() == 2);
    CHECK(content_of(received->mounts[0]) == "m1");
    CHECK(received->home_limited);

    REQUIRE(send_handover(here.get(), Handover()));
    const auto empty = receive_handover(there.get());
    REQUIRE(empty.has_value());
    CHECK_FALSE(empty->listen.valid());
    CHECK_FALSE(empty->home_limited);
    here.reset();
    CHECK_FALSE(receive_handover(there.get()).has_value());
}

TEST_CASE("cgroups that two have made are one session's")
{
    Handover servers;
    servers.oom_events = file("oom");
    servers.guest_tasks.push_back(file("g1"));
    servers.command_tasks.push_back(file("c1"));
    Handover launchers;
    launchers.pids_events = file("pids");
    launchers.freezer = file("freezer");
    launchers.guest_tasks.push_back(file("g2"));
    launchers.command_tasks.push_back(file("c2"));
    add_to(servers, std::move(launchers));
    CHECK(content_of(servers.oom_events) == "oom");
    CHECK(content_of(servers.pids_events) == "pids");
    CHECK(content_of(servers.freezer) == "freezer");
    REQUIRE(servers.guest_tasks.size() == 2);
    CHECK(content_of(servers.guest_tasks[1]) == "g2");
    REQUIRE(servers.command_tasks.size() == 2);
    CHECK(content_of(servers.command_tasks[1]) == "c2");
}

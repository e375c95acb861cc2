#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/namespaces.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/plan.hpp"
#include "sandbox/protocol/wire.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace berth;
using namespace berth::local;

namespace {

LaunchSpec plan_for(const sandbox::MachineSpec& spec, bool privileged,
                    const CgroupLayout& cgroups = {}, bool opens_tls = false)
{
    static const HostFiles host{.binds = {{.source = "/usr", .target = "/usr"}},
                                .links = {{"/bin", "usr/bin"}},
                                .localtime_target = ""};
    static const std::vector<Cover> hidden{{"/srv/service", "/opt/service"}};
    return make_plan(
        {.spec = spec,
         .ahead = make_ahead(host, {spec.network, "", hidden, spec.limits, nullptr}, cgroups),
         .cgroups = cgroups,
         .cgroup = "id",
         .folder = "/state/sessions/x",
         .socket_path = "/run/berth/id.sock",
         .guest_program = "/guest",
         .privileged = privileged,
         .host_uid = 5,
         .host_gid = 6,
         .opens_tls = opens_tls,
         .bundle = opens_tls ? "/etc/ssl/certs/ca-certificates.crt" : ""});
}

} // namespace

TEST_CASE("a plan survives its way to the launcher")
{
    sandbox::MachineSpec spec;
    spec.mounts = {{"/src", "/mnt/w", true}, {"/src", "/mnt/r", false}};
    spec.environment = {{"A", "b"}};
    spec.limits.cpus = 1.5;
    const auto plan = protocol::decode<LaunchSpec>(protocol::encode(plan_for(spec, true)));
    CHECK(plan.privileged);
    CHECK(plan.surroundings.own_network);
    const auto base = protocol::decode<RootParts>(plan.base);
    CHECK(base.hidden == std::vector<Cover>{{"/srv/service", "/opt/service"}});
    CHECK(plan.host_uid == 5);
    CHECK(plan.cgroup.cpu_quota == 150'000);
    CHECK(plan.guest.environment.at("A") == "b");
    CHECK(plan.guest.writable_roots == std::vector<std::string>{"/tmp", "/mnt/w"});
    CHECK(plan.guest.read_only_mounts == std::vector<std::string>{"/mnt/r"});
    const auto bind = [&](const std::string& target) {
        return *std::find_if(plan.binds.begin(), plan.binds.end(),
                             [&](const Bind& b) { return b.target == target; });
    };
    CHECK(bind("/mnt/w").id_mapped);
    CHECK_FALSE(bind("/mnt/r").id_mapped);
    CHECK_FALSE(bind("/mnt/w").follow_links);
    CHECK_FALSE(bind("/home/user").follow_links);
    CHECK(bind("/home/user").late);
    CHECK_FALSE(bind("/mnt/w").late);
    CHECK_FALSE(protocol::decode<RootParts>(plan.base).binds.front().writable);
    CHECK_FALSE(plan_for(spec, false).binds.back().id_mapped);
}

TEST_CASE("what is shown of /etc is not made a second time")
{
    HostFiles files;
    const auto made = [&] {
        const auto parts = base_parts(files, sandbox::Network::none, "", {});
        return std::count_if(parts.links.begin(), parts.links.end(), [](const SymbolicLink& link) {
            return link.path == "/etc/os-release";
        });
    };
    CHECK(made() == 1);
    files.links = {{"/etc/os-release", "../lib/os"}};
    CHECK(made() == 1);
    files.links.clear();
    files.binds = {{.source = "/t/etc/os-release", .target = "/etc/os-release"}};
    CHECK(made() == 0);
}

TEST_CASE("where TLS is opened programs are shown whom to trust")
{
    sandbox::MachineSpec spec;
    spec.network = sandbox::Network::filtered;
    const auto shows = [](const LaunchSpec& plan, const std::string& source,
                          const std::string& target) {
        return std::ranges::any_of(plan.binds, [&](const Bind& bind) {
            return bind.source == source && bind.target == target && !bind.writable && bind.late;
        });
    };
    const std::string folder = "/state/sessions/x/certificates";
    const auto plan = plan_for(spec, true, {}, /*opens_tls=*/true);
    CHECK(shows(plan, folder, "/etc/berth/certificates"));
    CHECK(shows(plan, folder + "/authorities.pem", "/etc/ssl/certs/ca-certificates.crt"));
    const auto& environment = plan.guest.environment;
    for (const char* name :
         {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "PIP_CERT"}) {
        CHECK(environment.at(name) == "/etc/berth/certificates/authorities.pem");
    }
    CHECK(environment.at("NODE_EXTRA_CA_CERTS") == "/etc/berth/certificates/authority.pem");
    CHECK(environment.at("JAVA_TOOL_OPTIONS")
              .ends_with(" -Djavax.net.ssl.trustStore=/etc/berth/certificates/authorities.jks "
                         "-Djavax.net.ssl.trustStoreType=JKS"));
    const auto without = plan_for(spec, true);
    CHECK_FALSE(shows(without, folder, "/etc/berth/certificates"));
    CHECK_FALSE(without.guest.environment.contains("SSL_CERT_FILE"));
}

TEST_CASE("without a pids cgroup the kernel's own count takes its place")
{
    sandbox::MachineSpec spec;
    spec.limits.pids = 77;
    CHECK(plan_for(spec, true).guest.limit_nproc == 77);
    CHECK(plan_for(spec, true).guest.limit_pids == 0);
}

TEST_CASE("the guest knows the limit that a pids cgroup enforces, though it can read none")
{
    sandbox::MachineSpec spec;
    spec.limits.pids = 77;
    CgroupLayout cgroups;
    cgroups.v1.pids = "/sys/fs/cgroup/pids";
    const auto guest = plan_for(spec, true, cgroups).guest;
    CHECK(guest.limit_pids == 77);
    CHECK(guest.limit_nproc == 0);
}

TEST_CASE("a record holds all that is needed to find and end a machine")
{
    MachineFacts facts;
    facts.pid = 42;
    facts.start_time = 1ULL << 40U;
    facts.boot = "b";
    facts.socket_path = "/run/x";
    facts.state = "/s";
    facts.folder = "f";
    facts.cgroups = {"/cg/a", "/cg/b"};
    facts.layers = {{"userns", true, "how"}, {"uid", false, ""}};
    const auto again = facts_from(to_record("id", "g", facts));
    CHECK(again.pid == 42);
    CHECK(again.start_time == facts.start_time);
    CHECK(again.cgroups == facts.cgroups);
    REQUIRE(again.layers.size() == 2);
    CHECK(again.layers.at(0).detail == "how");
    CHECK_FALSE(again.layers.at(1).in_force);
}

TEST_CASE("a spoilt record names no process")
{
    auto record = to_record("id", "g", {});
    record.data["pid"] = "-5";
    record.data["start_time"] = "soon";
    CHECK_FALSE(open_guest(facts_from(record)).valid());
    record.data.clear();
    CHECK_FALSE(open_guest(facts_from(record)).valid());
    CHECK(facts_from(record).cgroups.empty());
}

TEST_CASE("what was made ahead is that of no machine with other surroundings")
{
    const Surroundings made{.own_network = true, .host_name = "sandbox"};
    LaunchSpec spec;
    spec.privileged = true;
    spec.become_guest = true;
    spec.surroundings = made;
    CHECK(has_surroundings(spec, made));
    CHECK_FALSE(has_surroundings(spec, {.own_network = false, .host_name = "sandbox"}));
    CHECK_FALSE(has_surroundings(spec, {.own_network = true, .host_name = "other"}));
    for (bool LaunchSpec::* const part :
         {&LaunchSpec::privileged, &LaunchSpec::become_guest, &LaunchSpec::probe}) {
        spec.*part = !(spec.*part);
        CHECK_FALSE(has_surroundings(spec, made));
        spec.*part = !(spec.*part);
    }
}

#include "sandbox/local/etc_files.hpp"
#include "sandbox/local/host_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace berth;
using namespace berth::local;

namespace {

std::string content(const std::vector<TextFile>& files, const std::string& path)
{
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const TextFile& file) { return file.path == path; });
    return found == files.end() ? "missing" : found->content;
}

} // namespace

TEST_CASE("without a network no name server is named")
{
    const auto none = sandbox::Network::none;
    const auto host = sandbox::Network::host;
    const std::string servers = "nameserver 192.0.2.53\n";
    CHECK(resolv_conf_for(none).empty());
    CHECK(content(generated_etc_files(none, ""), "/etc/resolv.conf").empty());
    CHECK(content(generated_etc_files(none, ""), "/etc/nsswitch.conf").find("dns") ==
          std::string::npos);
    CHECK(content(generated_etc_files(host, servers), "/etc/resolv.conf") == servers);
    CHECK(content(generated_etc_files(host, servers), "/etc/nsswitch.conf").find("files dns") !=
          std::string::npos);
}

TEST_CASE("localtime follows the host's zone and nothing else of the host")
{
    CHECK(generated_etc_links("/usr/share/zoneinfo/Europe/Berlin").at(0).target ==
          "/usr/share/zoneinfo/Europe/Berlin");
    CHECK(generated_etc_links("/home/somebody/zone").at(0).target == "/usr/share/zoneinfo/UTC");
}

TEST_CASE("a program that knows no proxy is given a way through that of a filtered network")
{
    const auto program = tunnel_program();
    CHECK(program.executable);
    CHECK(program.path.ends_with("/berth-connect"));
    CHECK(program.content.starts_with("#!/bin/bash\n"));
    CHECK(program.content.find("/dev/tcp/127.0.0.1/3128 ") != std::string::npos);
}

TEST_CASE("programs that cannot work are replaced by one line")
{
    for (const auto& program : substitute_programs()) {
        CAPTURE(program.path);
        CHECK(program.executable);
        CHECK(program.content.starts_with("#!/bin/sh\n"));
        CHECK(program.content.ends_with("exit 1\n"));
    }
}

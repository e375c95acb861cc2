#include "sandbox/local/etc_files.hpp"

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
    EtcInput input;
    input.host_resolv_conf = "nameserver 192.0.2.53\n";
    CHECK(content(generated_etc_files(input), "/etc/resolv.conf").empty());
    CHECK(content(generated_etc_files(input), "/etc/nsswitch.conf").find("dns") ==
          std::string::npos);
    input.network = sandbox::Network::host;
    CHECK(content(generated_etc_files(input), "/etc/resolv.conf") == input.host_resolv_conf);
    CHECK(content(generated_etc_files(input), "/etc/nsswitch.conf").find("files dns") !=
          std::string::npos);
}

TEST_CASE("localtime follows the host's zone and nothing else of the host")
{
    EtcInput input;
    input.localtime_target = "/usr/share/zoneinfo/Europe/Berlin";
    CHECK(generated_etc_links(input).at(0).target == "/usr/share/zoneinfo/Europe/Berlin");
    input.localtime_target = "/home/somebody/zone";
    CHECK(generated_etc_links(input).at(0).target == "/usr/share/zoneinfo/UTC");
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

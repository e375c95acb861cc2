#include "server/audit/audit_record.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace berth::server; // NOLINT(google-build-using-namespace): the subject
using nlohmann::json;

TEST_CASE("a record is one line of JSON, whatever is in it")
{
    AuditRecord record;
    record.began =
        std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'007));
    record.duration = std::chrono::microseconds(1234);
    record.request = "ab";
    record.principal = "al\nice\xff";
    record.session = "\"work\"";
    record.tool = "bash_exec";
    record.command = "echo \x1b[31m\nls";
    record.command_bytes = 12;
    record.variables = {"A", "B\n"};
    record.outcome = "ok";
    record.fate = "exited";
    record.exit_code = 3;
    const auto line = audit_line(record);
    CHECK(line.find_first_of("\n\x1b\xff") == std::string::npos);
    const auto read = json::parse(line);
    CHECK(read["time"] == "2023-11-14T22:13:20.007Z");
    CHECK(read["principal"] == "al\nice\uFFFD");
    CHECK(read["session"] == "\"work\"");
    CHECK(read["command"] == "echo \x1b[31m\nls");
    CHECK(read["env"] == json({"A", "B\n"}));
    CHECK(read["exit_code"] == 3);
    CHECK(read["duration_ms"] == 1.234);
    CHECK_FALSE(read.contains("traceparent"));
    CHECK_FALSE(read.contains("command_sha256"));
    AuditRecord other;
    other.tool = "read_file";
    const auto bare = json::parse(audit_line(other));
    CHECK_FALSE(bare.contains("command"));
    CHECK_FALSE(bare.contains("env"));
    CHECK_FALSE(bare.contains("exit_code"));
}

TEST_CASE("what an operator did is told as far as it is known, and of a call nothing of that")
{
    AuditRecord record;
    CHECK_FALSE(json::parse(audit_line(record)).contains("purge"));
    record.operation.emplace();
    auto read = json::parse(audit_line(record));
    for (const auto* name : {"of", "key", "backend", "purge", "save", "purged", "saved"}) {
        CHECK_FALSE(read.contains(name));
    }
    record.operation = {.of = "al\"ice",
                        .key = "k",
                        .backend = "e2b",
                        .purge = true,
                        .save = false,
                        .purged = false,
                        .saved = 3};
    read = json::parse(audit_line(record));
    CHECK(read["of"] == "al\"ice");
    CHECK(read["key"] == "k");
    CHECK(read["backend"] == "e2b");
    CHECK(read["purge"] == true);
    CHECK(read["save"] == false);
    CHECK(read["purged"] == false);
    CHECK(read["saved"] == 3);
}

TEST_CASE("names of variables take no room without end")
{
    AuditRecord record;
    record.command_bytes = 1;
    record.variables.assign(1000, std::string(1000, 'N'));
    const auto line = audit_line(record);
    CHECK(line.size() < 10'000);
    const auto read = json::parse(line);
    CHECK(read["env"].size() == 64);
    CHECK(read["env_more"] == 936);
}

TEST_CASE("of a command 400 characters are shown, and no part of one")
{
    CHECK(shown_command(std::string(400, 'x'), {}) == std::string(400, 'x'));
    CHECK(shown_command(std::string(401, 'x'), {}) == std::string(400, 'x') + "…");
    std::string wide;
    for (int i = 0; i < 401; ++i) {
        wide += "é";
    }
    CHECK(shown_command(wide, {}) == wide.substr(0, 800) + "…");
    CHECK(shown_command("\xff\xfe", {}) == "\uFFFD\uFFFD");
    CHECK(shown_command("", {}) == "");
}

TEST_CASE("secrets that are known, and passwords of addresses, are in no command that is shown")
{
    CHECK(shown_command("curl -H sk-12345 x sk-12345", {"sk-12345"}) == "curl -H *** x ***");
    CHECK(shown_command("a token2 token", {"token", "token2"}) == "a *** ***");
    CHECK(shown_command("exit 1", {"1", "", "xit"}) == "exit 1"); // too short to be one
    CHECK(shown_command("git clone https://u:pass@h/r", {}) == "git clone https://u:***@h/r");
    // Where the 400 characters end in the middle of one.
    const auto shown = shown_command(std::string(398, 'x') + "secret-value", {"secret-value"});
    CHECK(shown == std::string(398, 'x') + "**…");
}

TEST_CASE("what the operator gives to commands is hidden in its other forms too")
{
    const std::vector<berth::tools::Secret> secrets{{"TOKEN", "gh+p/A1b2?C3d4"}, {"PIN", "1234"}};
    CHECK(shown_command("a gh+p/A1b2?C3d4 1234 b", {}, secrets) == "a *** *** b");
    CHECK(shown_command("echo Z2grcC9BMWIyP0MzZDQ= | base64 -d", {}, secrets)->find("Z2gr") ==
          std::string::npos);
    CHECK(shown_command("curl 'h/?t=gh%2Bp%2FA1b2%3FC3d4'", {}, secrets) == "curl 'h/?t=***'");
    CHECK(shown_command("p/A1b2?C3d4 is a part", {}, secrets) == "p/A1b2?C3d4 is a part");
    CHECK(shown_command("x gh+p/A1b2?C3d4y", {"C3d4y"}, secrets) == "x ***"); // they overlap
}

TEST_CASE("of secrets that overlap no part is left, and the search for them has an end")
{
    CHECK(shown_command("a leftmidright b", {"leftmid", "midright"}) == "a *** b");
    CHECK(shown_command("abcdabcdx", {"abcd"}) == "******x"); // side by side they are two
    CHECK(shown_command("aaaaaa", {"aaaa"}) == "***");
    CHECK(shown_command("xlong-secretx", {"secret", "long-secret", "cret"}) == "x***x");
    CHECK(shown_command("****", {"****"}) == "***"); // what looks like a mask is none
    const std::string large(300 << 10U, 's');
    CHECK_FALSE(shown_command("echo", {large}));
    std::vector<std::string> many;
    for (int i = 0; i < 40'000; ++i) {
        many.push_back("secret-" + std::to_string(i));
    }
    CHECK_FALSE(shown_command("echo secret-7", many));
    CHECK(shown_command("echo x", std::vector<std::string>(100'000, "same")) == "echo x");
    CHECK(shown_command("abababacabab", {"abab", "baba"}) == "***c***");
}

TEST_CASE("of a command of megabytes what is shown is as of any other")
{
    const std::string tail(4 << 20U, 'x');
    CHECK(shown_command("echo top-secret " + tail, {"top-secret"}) == "echo ***…");
    // A secret that goes on far behind what is looked at.
    const std::string secret(100 << 10U, 'k');
    CHECK(shown_command("echo x " + secret + " end", {"x " + secret}) == "echo ***…");
    // And an address whose password does.
    CHECK(shown_command("curl https://me:" + tail + "@host/", {}) == "curl…");
}

TEST_CASE("which resource was read is told, as far as it is not too long")
{
    AuditRecord record;
    record.tool = "resources.read";
    record.uri = "workspace:///" + std::string(1000, 'x') + "\xff";
    const auto read = json::parse(audit_line(record));
    CHECK(read["uri"] == record.uri.substr(0, 400));
    CHECK_FALSE(json::parse(audit_line({})).contains("uri"));
}

#include "sandbox/base/error.hpp"
#include "server/options/definitions.hpp"
#include "server/options/options.hpp"
#include "server/options/paths.hpp"
#include "server/options/values.hpp"
#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <stdlib.h>
#include <sys/stat.h>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using berth::server::tests::Bench;
using berth::server::tests::has;
using berth::server::tests::origin;

TEST_CASE("the defaults are the design's, and every default is within its own range")
{
    const Bench bench;
    const auto options = bench.make();
    CHECK(options.backend == "local");
    CHECK(options.tools.exec_timeout == std::chrono::seconds(120));
    CHECK(options.tools.exec_max_timeout == std::chrono::seconds(7200));
    CHECK(options.tools.job_timeout == std::chrono::seconds(1800));
    CHECK(options.tools.job_max_timeout == std::chrono::seconds(7200));
    CHECK(options.tools.output_budget == 30'000);
    CHECK(options.tools.control_characters == ControlCharacters::strip);
    CHECK(options.sessions.limits.memory == 2ULL << 30U);
    CHECK(options.sessions.limits.spill_stream == 64ULL << 20U);
    CHECK(options.sessions.ttl == std::chrono::hours(12));
    CHECK(options.sessions.network == sandbox::Network::none);
    CHECK(options.message_limit == 32ULL << 20U);
    CHECK(options.rpc.bytes_in_flight == 256ULL << 20U);
    CHECK(options.rpc.in_flight == 256);
    CHECK(options.rpc.read.depth == 64);
    CHECK(options.session.session.empty());
    CHECK(options.session.principal == user_name());
    CHECK(options.workspace == bench.directory + "/state/workspace");
    CHECK(origin(options, "session.ttl") == "12 h from default");
}

TEST_CASE("a sandbox of E2B's sleeps when its last server leaves, where nobody says otherwise")
{
    Bench bench;
    bench.given.values["backend"] = {.items = {"e2b"}, .origin = "flag --backend"};
    CHECK(origin(bench.make(), "session.on_disconnect") == "now from default");
    CHECK(bench.make().sessions.on_disconnect == protocol::OnDisconnect::now);
    bench.variables["BERTH_SESSION_ON_DISCONNECT"] = "idle";
    CHECK(bench.make().sessions.on_disconnect == protocol::OnDisconnect::idle);
    bench.given.values["backend"].items = {"local"};
    bench.variables.erase("BERTH_SESSION_ON_DISCONNECT");
    CHECK(bench.make().sessions.on_disconnect == protocol::OnDisconnect::idle);
}

TEST_CASE("flags win over the environment, the environment over the file")
{
    Bench bench;
    bench.file("network = \"host\"\nsticky_cwd = false\n[exec]\ntimeout = \"5m\"\n"
               "[read]\nlimit = 7\n[local]\ncpus = 0.5\n");
    bench.variables["BERTH_EXEC_TIMEOUT"] = "30";
    bench.variables["BERTH_NETWORK"] = "host";
    bench.given.values["network"] = {.items = {"none"}, .origin = "flag --network"};
    const auto options = bench.make();
    CHECK(options.sessions.network == sandbox::Network::none);
    CHECK(options.tools.exec_timeout == std::chrono::seconds(30));
    CHECK(options.tools.read_limit == 7);
    CHECK(options.sessions.limits.cpus == 0.5);
    CHECK_FALSE(options.tools.sticky_cwd);
    CHECK(origin(options, "exec.timeout") == "30 s from environment BERTH_EXEC_TIMEOUT");
    CHECK(has(origin(options, "read.limit"), "berth.toml:6"));
    CHECK(origin(options, "network") == "none from flag --network");
}

TEST_CASE("env is names and values")
{
    Bench bench;
    for (const char* wrong : {"A", "=1", "1A=1", "A B=1", "A.B=1"}) {
        CAPTURE(wrong);
        bench.given.values["env"] = {.items = {wrong}, .origin = "flag --env"};
        CHECK(has(bench.refusal(), "env (flag --env), entry 1: it is not of the form NAME=VALUE"));
    }
    bench.given.values["env"].items = {"A_1=x=y", "B="};
    CHECK(bench.make().tools.command_variables() ==
          std::map<std::string, std::string>{{"A_1", "x=y"}, {"B", ""}});
}

TEST_CASE("a machine is made ready with commands, not with nothing")
{
    Bench bench;
    for (const char* empty : {"", " \t\n"}) {
        bench.given.values["session.setup"] = {.items = {"true", empty}, .origin = "flag --x"};
        CHECK(has(bench.refusal(), "session.setup (flag --x), entry 2: it is empty"));
    }
    bench.given.values["session.setup"].items = {std::string("a\0b", 3)};
    CHECK(has(bench.refusal(), "entry 1: it contains a NUL byte"));
    bench.given.values["session.setup"].items = {"true"};
    CHECK(bench.make().sessions.setup.commands == std::vector<std::string>{"true"});
}

TEST_CASE("what is saved at the end is below the home, and somebody's")
{
    Bench bench;
    bench.variables["BERTH_SESSION_SAVE_ON_END"] = "out/,~/report//*.pdf,./a/./b,**";
    const auto options = bench.make();
    CHECK(options.sessions.save_on_end.patterns ==
          std::vector<std::string>{"out", "report/*.pdf", "a/b", "**"});
    CHECK(options.sessions.save_on_end.workspace == options.workspace);
    CHECK(options.sessions.asked.contains("session.save_on_end"));
    bench.variables["BERTH_PRINCIPAL"] = "";
    CHECK(has(bench.refusal(), "needs a workspace"));
    bench.given.only_looks = true; // who clears up after others needs none
    CHECK(bench.refusal().empty());
    for (const char* pattern : {"/etc", "..", "a/../../b", "~", ".", "~/", "~/..", "\xff"}) {
        CAPTURE(pattern);
        bench.variables["BERTH_SESSION_SAVE_ON_END"] = pattern;
        CHECK(has(bench.refusal(), "is not below the home"));
    }
    bench.variables["BERTH_SESSION_SAVE_ON_END"] = "out/["; // which is no pattern at the end either
    CHECK(has(bench.refusal(),
              "session.save_on_end \"out/[\" (environment "
              "BERTH_SESSION_SAVE_ON_END): bad glob pattern: '[' is never closed"));
}

TEST_CASE("control characters: three ways, and no fourth")
{
    using berth::ControlCharacters;
    Bench bench;
    for (const auto& [word, meant] :
         std::map<std::string, ControlCharacters>{{"strip", ControlCharacters::strip},
                                                  {"escape", ControlCharacters::escape},
                                                  {"pass", ControlCharacters::pass}}) {
        bench.variables["BERTH_OUTPUT_CONTROL_CHARACTERS"] = word;
        CHECK(bench.make().tools.control_characters == meant);
    }
    bench.variables["BERTH_OUTPUT_CONTROL_CHARACTERS"] = "hide";
    CHECK_THROWS_AS((void)bench.make(), Error);
}

TEST_CASE("a value out of range names key, value, range and origin")
{
    Bench bench;
    bench.variables["BERTH_EXEC_TIMEOUT"] = "0";
    const auto text = bench.refusal();
    CHECK(has(text, "exec.timeout = \"0\" (environment BERTH_EXEC_TIMEOUT)"));
    CHECK(has(text, "1 s to 1 d"));
    for (const auto* wrong :
         {"", "abc", "-5", "1e99", "nan", "inf", "12 parsecs", "1.5.2", "0x10"}) {
        CAPTURE(wrong);
        bench.variables["BERTH_EXEC_TIMEOUT"] = wrong;
        CHECK_FALSE(bench.refusal().empty());
    }
    bench.variables["BERTH_EXEC_TIMEOUT"] = "8000"; // above exec.max_timeout
    CHECK(has(bench.refusal(), "exec.max_timeout"));
    bench.variables = {{"BERTH_JOB_MAX_TIMEOUT", "600s"}, {"BERTH_JOB_TIMEOUT", "700s"}};
    CHECK(has(bench.refusal(), "job.max_timeout"));
    bench.variables["BERTH_JOB_TIMEOUT"] = "300s";
    CHECK(bench.make().tools.job_timeout == std::chrono::seconds(300));
    bench.variables.erase("BERTH_JOB_TIMEOUT"); // its default, 1800 s, is nobody's wish
    CHECK(bench.make().tools.job_timeout == std::chrono::seconds(600));
}

TEST_CASE("the largest message has room beside others in flight")
{
    Bench bench;
    bench.variables["BERTH_REQUEST_MAX"] = "512MiB";
    const auto options = bench.make();
    CHECK(options.message_limit == 512ULL << 20U);
    CHECK(options.rpc.bytes_in_flight >= 2 * options.message_limit);
}

TEST_CASE("whole numbers, choices and booleans are checked too")
{
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"READ_LIMIT", "1.5"},       {"NETWORK", "lan"},
        {"NETWORK", "none|host"},    {"READ_ONLY", "maybe"},
        {"BACKEND", "Local"},        {"LOG_LEVEL", "loud"},
        {"SESSION_TTL", "90500 ms"}, {"WORKSPACE", "s3://bucket/x"}};
    for (const auto& [name, value] : wrong) {
        CAPTURE(name);
        Bench bench;
        bench.variables["BERTH_" + name] = value;
        CHECK_FALSE(bench.refusal().empty());
    }
}

TEST_CASE("an unknown key of the file names the nearest one and its line")
{
    Bench bench;
    bench.file("[exec]\n\ntimeuot = 3\n");
    const auto text = bench.refusal();
    CHECK(has(text, "exec.timeuot"));
    CHECK(has(text, "berth.toml:3"));
    CHECK(has(text, "Did you mean exec.timeout?"));
    bench.file("[session]\nname = \"x\"\n");
    CHECK(
        has(bench.refusal(), "The session is not for the file: give --session or BERTH_SESSION."));
    for (const char* of_it : {"", "network = \"none\"\n"}) {
        bench.file("[profile.a]\n" + std::string(of_it));
        CHECK(has(bench.refusal(), "Did you mean [profiles.a]?"));
        CHECK_FALSE(has(bench.refusal(), "a.\""));
    }
    for (const char* of_it : {"", "network = \"none\"\n"}) {
        bench.file("[profile]\n" + std::string(of_it));
        CHECK(has(bench.refusal(), "[profile] is no table"));
        CHECK(has(bench.refusal(), "Write profile = \"NAME\""));
    }
    bench.file("network = none\n");
    CHECK(has(bench.refusal(), "text needs quotes: network = \"none\""));
    bench.file("zzzzzzzzzzzzzzzzzzzz = 1\n");
    CHECK(has(bench.refusal(), "unknown setting"));
    CHECK_FALSE(has(bench.refusal(), "Did you mean"));
    bench.file("a = = 1\n");
    CHECK(has(bench.refusal(), "berth.toml:1"));
    bench.file("[exec]\ntimeout = 1979-05-27\n");
    CHECK(has(bench.refusal(), "exec.timeout"));
    bench.given.config_file = bench.directory + "/missing.toml";
    CHECK(has(bench.refusal(), "missing.toml"));
}

TEST_CASE("the session's name: flag, BERTH_SESSION, and Claude Code's only where it is wanted")
{
    Bench bench;
    bench.variables["CLAUDE_CODE_SESSION_ID"] = "claude";
    CHECK(bench.make().session.session.empty());
    bench.given.is_server = true;
    CHECK(bench.make().session.session == "claude");
    bench.variables["BERTH_SESSION"] = "own";
    CHECK(bench.make().session.session == "own");
    bench.given.session = "flag";
    CHECK(bench.make().session.session == "flag");
    bench.given.session = ""; // of `--session "$UNSET"`
    CHECK(has(bench.refusal(), "session = \"\" (flag --session) is not allowed"));
    bench.variables["BERTH_SESSION"] = "";
    bench.given.session.reset();
    CHECK(bench.make().session.session.empty());
    bench.given.session = std::string(257, 'x');
    CHECK_FALSE(bench.refusal().empty());
    bench.given.session = "\xff";
    CHECK_FALSE(bench.refusal().empty());
}

TEST_CASE("mounts are resolved and kept away from the state directory")
{
    Bench bench;
    namespace fs = std::filesystem;
    fs::create_directories(bench.directory + "/state/sessions");
    fs::create_directories(bench.directory + "/project");
    fs::create_directory_symlink(bench.directory + "/state", bench.directory + "/link");
    const auto mount = [&](const std::string& text) {
        bench.given.values["mount"] = {.items = {text}, .origin = "flag --mount"};
        return bench.refusal();
    };
    CHECK(mount(bench.directory + "/project:/home/user/project").empty());
    CHECK_FALSE(bench.make().sessions.mounts.at(0).writable);
    CHECK(mount(bench.directory + "/project:/mnt/a//").empty());
    CHECK(bench.make().sessions.mounts.at(0).target == "/mnt/a");
    CHECK(mount(bench.directory + "/./project/../project:/p:rw").empty());
    CHECK(bench.make().sessions.mounts.at(0).writable);
    CHECK(bench.make().sessions.mounts.at(0).source ==
          fs::canonical(bench.directory + "/project").string());
    for (const auto* around : {"", "/state", "/state/sessions", "/link"}) {
        CAPTURE(around);
        CHECK(has(mount(bench.directory + around + ":/p"), "state directory"));
    }
    CHECK(has(mount("/:/p"), "state directory"));
    for (const auto* wrong : {"", "x", "/tmp", "/tmp:", ":/p", "/tmp:p", "/tmp:/", "/tmp:/a/../b",
                              "/tmp:/..", "/no/such/folder:/p", "/tmp:/p:rx"}) {
        CAPTURE(wrong);
        CHECK_FALSE(mount(wrong).empty());
    }
}

TEST_CASE("values are read with their units")
{
    CHECK(parse_duration("90") == 90'000);
    CHECK(parse_duration(" 1.5 h ") == 5'400'000);
    CHECK(parse_duration("250ms") == 250);
    CHECK(parse_bytes("2GiB") == 2147483648.0);
    CHECK(parse_bytes("4096") == 4096);
    CHECK_FALSE(parse_bytes("30MB"));
    CHECK(parse_boolean("yes") == true);
    CHECK(parse_boolean("off") == false);
    CHECK_FALSE(parse_boolean("TRUE "));
    CHECK(split_list(" a, b ,,c") == std::vector<std::string>{"a", "b", "c"});
    CHECK(format_duration(90'000) == "90 s");
    CHECK(format_duration(43'200'000) == "12 h");
    CHECK(format_duration(1500) == "1500 ms");
    CHECK(format_duration(1500.5) == "1500.5 ms");
    CHECK(format_duration(0) == "0 s");
    CHECK(format_number(-1e300) == "-1e+300");
    CHECK(format_bytes(1536) == "1536 B");
    CHECK(format_number(0.5) == "0.5");
    CHECK(format_number(30'000) == "30000");
}

TEST_CASE("every setting has a variable of its own, and says what it does")
{
    std::vector<std::string> names;
    for (const auto& definition : definitions()) {
        names.push_back(variable_of(definition));
        CHECK_FALSE(definition.help.empty());
    }
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
    CHECK(variable_of(*find_definition("output.spill_stream")) == "BERTH_OUTPUT_SPILL_STREAM");
    CHECK(variable_of(*find_definition("e2b.lease")) == "BERTH_E2B_LEASE");
    CHECK(flag_of(*find_definition("state_dir")) == "--state-dir");
}

TEST_CASE("a list that was given and is empty is refused: it is a variable that was not set")
{
    for (const auto* key : {"tools", "require", "mount", "var"}) {
        CAPTURE(key);
        Bench bench;
        bench.given.values[key] = {.items = {}, .origin = std::string("flag --") + key};
        CHECK(has(bench.refusal(), std::string(key) + " = \"\" (flag --"));
    }
}

TEST_CASE("names that people read cannot move their terminal's cursor")
{
    for (const std::string name : {"a\nb", "\x1b[31m", "\xff", "\x7f", "\u009b2J"}) {
        Bench bench;
        bench.given.session = name;
        CHECK(has(bench.refusal(), "the session's name (flag --session) is not allowed"));
        bench.given.session.reset();
        bench.variables["BERTH_PRINCIPAL"] = name;
        CHECK(has(bench.refusal(), "the principal (environment BERTH_PRINCIPAL) is not allowed"));
    }
    Bench bench;
    bench.variables["BERTH_PRINCIPAL"] = std::string(257, 'x');
    CHECK(has(bench.refusal(), "at most 256 bytes"));
    bench.variables["BERTH_PRINCIPAL"] = "Änne Müller";
    CHECK(bench.refusal().empty());
}

TEST_CASE("the registry: its address is taken apart, and shown without user and password")
{
    Bench bench;
    CHECK_FALSE(bench.make().sessions.redis.has_value());
    CHECK_FALSE(bench.make().sessions.place.has_value());
    bench.variables["BERTH_REGISTRY"] = "redis://ann:geheim@host:7/2";
    const auto options = bench.make();
    REQUIRE(options.sessions.redis.has_value());
    CHECK(options.sessions.redis->password == "geheim");
    CHECK(options.sessions.redis->host == "host");
    REQUIRE(options.sessions.place.has_value());
    CHECK_FALSE(options.sessions.place->host_id.empty());
    for (const auto& setting : options.settings) {
        CHECK_FALSE(has(setting.value, "geheim"));
        CHECK((setting.key != "registry" || setting.value == "redis://host:7/2"));
    }
    bench.variables["BERTH_SESSION_HOST"] = "a name";
    CHECK(bench.make().sessions.place->host == "a name");
    CHECK(bench.make().sessions.place->host_id.empty());
    for (const std::string wrong :
         {"redis://:geheim@host:geheim", "geheim", "rediss://:geheim@h"}) {
        bench.variables["BERTH_REGISTRY"] = wrong;
        const auto text = bench.refusal();
        CHECK(has(text, "the address of the registry is not allowed"));
        CHECK(has(text, "(environment BERTH_REGISTRY)"));
        CHECK_FALSE(has(text, "geheim"));
    }
    bench.variables.erase("BERTH_REGISTRY");
    bench.variables["BERTH_SESSION_HOST"] = "a\nb";
    CHECK(has(bench.refusal(), "session.host (environment BERTH_SESSION_HOST)"));
}

TEST_CASE("a backend is one of those that there are")
{
    Bench bench;
    CHECK(bench.make().backend == "local");
    bench.variables["BERTH_BACKEND"] = "e2b";
    CHECK(bench.make().backend == "e2b");
    bench.variables["BERTH_BACKEND"] = "docker";
    CHECK(has(bench.refusal(), "Allowed: \"local\", \"e2b\"."));
}

TEST_CASE("a settings file that cannot be read is named, not taken for an empty one")
{
    Bench bench;
    bench.given.config_file = bench.directory;
    CHECK(has(bench.refusal(), "the settings file " + bench.directory + ": it is a folder"));
    bench.given.config_file = bench.directory + "/none";
    CHECK(has(bench.refusal(), bench.directory + "/none: No such file or directory"));
    bench.given.config_file = bench.directory + "/pipe";
    REQUIRE(::mkfifo(bench.given.config_file.c_str(), 0600) == 0);
    CHECK(has(bench.refusal(), "/pipe: it is no regular file")); // and nobody waits for a writer
}

TEST_CASE_FIXTURE(Bench, "a home that is relative is none: files would depend on where one stands")
{
    const auto variables_of = [](std::string home) {
        return [home = std::move(home)](const std::string& name) {
            return name == "HOME" ? std::optional(home) : std::nullopt;
        };
    };
    std::filesystem::create_directories(directory + "/.config/berth");
    std::ofstream(directory + "/.config/berth/config.toml") << "read_only = true\n";
    CHECK(default_config_file(variables_of(directory)) == directory + "/.config/berth/config.toml");
    const auto relative = std::filesystem::relative(directory);
    REQUIRE(std::filesystem::exists(relative / ".config/berth/config.toml"));
    CHECK(default_config_file(variables_of(relative)) == default_config_file(variables_of("")));
    CHECK(default_state_directory(variables_of(relative)).starts_with('/'));
}

TEST_CASE("what is wrong with a mount is told, and what to do")
{
    Bench bench;
    bench.given.values["mount"] = {.items = {"/usr:/mnt/a:rx"}, .origin = "flag --mount"};
    CHECK(has(bench.refusal(), "the mode is ro or rw, not \"rx\""));
    bench.given.values["mount"].items = {"none-such:/mnt/a"};
    CHECK(has(bench.refusal(), std::filesystem::current_path().string() + "/none-such: No such"));
    bench.given.values["mount"].items = {bench.directory + ":/mnt/a"};
    CHECK(has(bench.refusal(), "Mount another folder, or move the state: --state-dir."));
    bench.given.values["mount"].items = {"/:/mnt/a"};
    CHECK(has(bench.refusal(), "Mount the folders below / that are wanted, one by one."));
    bench.given.values["mount"].items = {"/usr:/mnt/a:rw:ro"};
    CHECK(has(bench.refusal(), "it has two modes, rw:ro\nGive one, ro or rw."));
}

TEST_CASE("a mount whose folder has gone is no matter for what only looks")
{
    Bench bench;
    bench.given.values["mount"] = {.items = {"/no/such/folder:/mnt/a:rw"}, .origin = "flag"};
    CHECK(has(bench.refusal(), "mount \"/no/such/folder:/mnt/a:rw\" (flag): /no/such/folder: No"));
    bench.given.only_looks = true;
    CHECK(bench.refusal().empty());
    CHECK(bench.make().sessions.mounts.at(0).source == "/no/such/folder");
    bench.given.values["mount"].items = {"/usr:/mnt/a:rx"};
    CHECK_FALSE(bench.refusal().empty()); // a typing error is told at once
}

TEST_CASE("what was asked for is what a flag, a variable or the file gave")
{
    Bench bench;
    bench.file("[local]\nmemory = \"1GiB\"\n");
    bench.variables["BERTH_LOCAL_PIDS"] = "77";
    bench.given.values["network"] = {.items = {"host"}, .origin = "flag --network"};
    const auto asked = bench.make().sessions.asked;
    CHECK(asked.contains("local.memory"));
    CHECK(asked.contains("local.pids"));
    CHECK(asked.contains("network"));
    CHECK_FALSE(asked.contains("mount"));
    CHECK_FALSE(asked.contains("local.cpus"));
}

TEST_CASE("the key's variables come from the launcher, and one that is missing refuses")
{
    Bench bench;
    bench.given.session = "work";
    bench.variables["BERTH_PRINCIPAL"] = "ann";
    bench.variables["BERTH_SESSION_KEY"] = "{principal}/{team}/{session}";
    CHECK(has(bench.refusal(), "the variable {team} is not set"));
    bench.variables["BERTH_VAR"] = "team=red";
    const auto red = bench.make();
    bench.given.values["var"] = {.items = {"team=blue"}, .origin = "flag --var"};
    const auto blue = bench.make();
    CHECK(red.session.session == "work");
    CHECK(session::key_hash(red.session) != session::key_hash(blue.session));
    CHECK(red.keys.apply("ann", "work") == red.session);

    // Who lists, ends or clears up, as a timer does, knows none of them.
    bench.variables.erase("BERTH_VAR");
    bench.given.values.erase("var");
    bench.given.only_looks = true;
    const auto timer = bench.make();
    const auto named = session::key_hash(timer.keys.apply("ann", "work"));
    CHECK(named != session::key_hash(red.session));
    CHECK(named != session::key_hash(blue.session));
}

TEST_CASE("a wrong unit is told with those there are")
{
    Bench bench;
    for (const auto* wrong : {"1GB", "8 GB", "many"}) {
        bench.variables["BERTH_LOCAL_MEMORY"] = wrong;
        CHECK(has(bench.refusal(), "\nUnits: B, KiB, MiB, GiB, as in 512MiB"));
    }
    bench.variables.erase("BERTH_LOCAL_MEMORY");
    bench.variables["BERTH_EXEC_TIMEOUT"] = "abc";
    CHECK(has(bench.refusal(), "\nUnits: ms, s, min, h, d, as in 90s"));
}

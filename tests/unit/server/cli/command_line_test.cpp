#include "server/cli/command_line.hpp"
#include "server/options/definitions.hpp"
#include "tests/unit/captured.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using berth::tests::captured;

namespace {

using Words = std::vector<const char*>;

struct Parsed {
    std::optional<cli::CommandLine> line;
    int status = -1;
    std::string out;
    std::string err;
};

Parsed parse(Words words)
{
    words.insert(words.begin(), "berth");
    Parsed parsed;
    parsed.err = captured(STDERR_FILENO, [&] {
        parsed.out = captured(STDOUT_FILENO, [&] {
            parsed.line = cli::parse(static_cast<int>(words.size()), words.data(), parsed.status);
        });
    });
    return parsed;
}

using Items = std::vector<std::string>;

Items items(const Parsed& parsed, const std::string& key)
{
    const auto found = parsed.line->given.values.find(key);
    return found == parsed.line->given.values.end() ? Items{"?"} : found->second.items;
}

} // namespace

TEST_CASE("no command is serve")
{
    const auto alone = parse({});
    REQUIRE(alone.line);
    CHECK(alone.line->command == "serve");
    CHECK(alone.line->given.values.empty());
    CHECK_FALSE(alone.line->given.session);
    CHECK(alone.line->given.is_server);
    CHECK(parse({"--session", "a"}).line->command == "serve");
    CHECK_FALSE(parse({"call", "x"}).line->given.is_server);
}

TEST_CASE("flags are taken before and after the command, and take one word each")
{
    for (const auto& words :
         {Words{"call", "--network", "host", "--mount", "/a:/b,/c:/d", "--mount", "/e:/f", "tool",
                "{}"},
          Words{"--network", "host", "call", "--mount", "/a:/b,/c:/d", "tool", "--mount", "/e:/f",
                "{}"},
          Words{"--mount=/a:/b,/c:/d", "--mount=/e:/f", "call", "tool", "{}", "--network=host"}}) {
        const auto parsed = parse(words);
        REQUIRE_MESSAGE(parsed.line, parsed.err);
        CHECK(parsed.line->command == "call");
        CHECK(parsed.line->tool == "tool");
        CHECK(parsed.line->arguments == "{}");
        CHECK(items(parsed, "network") == Items{"host"});
        CHECK(items(parsed, "mount") == Items{"/a:/b", "/c:/d", "/e:/f"});
        CHECK(parsed.line->given.values.at("mount").origin == "flag --mount");
    }
}

TEST_CASE("of a flag that is no list the last one counts")
{
    CHECK(items(parse({"--network", "none", "--network", "host"}), "network") == Items{"host"});
    CHECK(*parse({"--session", "a", "--session", "b"}).line->given.session == "b");
    CHECK(items(parse({"--read-only"}), "read_only") == Items{"true"});
    CHECK(items(parse({"--read-only=false"}), "read_only") == Items{"false"});
    CHECK(*parse({"--session", ""}).line->given.session == "");
}

TEST_CASE("every command is known by its name")
{
    CHECK(parse({"sessions", "list", "--json"}).line->command == "sessions-list");
    CHECK(parse({"sessions", "list", "--json"}).line->json);
    const auto kill = parse({"sessions", "kill", "--principal", "ann", "work", "--purge"});
    REQUIRE_MESSAGE(kill.line, kill.err);
    CHECK(kill.line->command == "sessions-kill");
    CHECK_FALSE(kill.line->no_save);
    CHECK(parse({"sessions", "kill", "work", "--no-save"}).line->no_save);
    const auto adopt = parse({"sessions", "adopt", "old", "--session", "new", "--end-machine"});
    REQUIRE(adopt.line);
    CHECK(adopt.line->command == "sessions-adopt");
    CHECK(adopt.line->key == "old");
    CHECK(adopt.line->given.session == "new");
    CHECK(adopt.line->end_machine);
    CHECK(kill.line->key == "work");
    CHECK(kill.line->purge);
    for (const std::string command : {"show", "pause", "resume"}) {
        const auto one =
            parse({"sessions", command.c_str(), "work", "--principal", "ann", "--json"});
        REQUIRE_MESSAGE(one.line, one.err);
        CHECK(one.line->command == "sessions-" + command);
        CHECK(one.line->key == "work");
        CHECK(one.line->json);
        CHECK(one.line->given.only_looks);
    }
    for (const char* command : {"serve", "status", "doctor", "config", "version"}) {
        CHECK(parse({command}).line->command == command);
        CHECK(parse({command}).line->given.shows == (std::string(command) == "config"));
    }
    CHECK_FALSE(parse({"call", "tool"}).line->arguments);
    CHECK(parse({"call", "tool", "{}"}).line->arguments == "{}");
}

TEST_CASE("a mistake is answered on stderr with status 2, and nothing on stdout")
{
    for (const auto& words :
         {Words{"nonsense"}, Words{"--no-such-flag"}, Words{"call"}, Words{"sessions"},
          Words{"sessions", "kill"}, Words{"sessions", "pause"},
          Words{"call", "tool", "{}", "too much"}, Words{"--session"},
          Words{"--read-only=perhaps", "version", "--no-such-flag"}}) {
        CAPTURE(words.front());
        const auto parsed = parse(words);
        CHECK_FALSE(parsed.line);
        CHECK(parsed.status == 2);
        CHECK(parsed.out.empty());
        CHECK(parsed.err.starts_with("berth: "));
        CHECK(parsed.err.find("--help`") != std::string::npos);
    }
}

TEST_CASE("serve's help has every setting with its variable and default")
{
    const auto help = parse({"serve", "--help"});
    CHECK_FALSE(help.line);
    CHECK(help.status == 0);
    CHECK(help.err.empty());
    for (const auto& definition : definitions()) {
        CAPTURE(definition.key);
        CHECK(help.out.find(variable_of(definition)) != std::string::npos);
        // Of a list its beginning, or it pushes the help of all others out of sight.
        CHECK(help.out.find(definition.fallback.substr(0, 32)) != std::string::npos);
        CHECK((help.out.find(flag_of(definition) + " ") != std::string::npos) ==
              definition.has_flag);
    }
    CHECK(help.out.find(std::string(80, ' ')) == std::string::npos);
    CHECK(help.out.find("--session") != std::string::npos);
    CHECK(help.out.find("--config") != std::string::npos);
    CHECK(help.out.find("\n  E2B_API_KEY ") != std::string::npos);
    const auto top = parse({"--help"});
    CHECK(top.status == 0);
    CHECK(top.out.find("[BERTH_NETWORK, default none]") != std::string::npos);
    CHECK(top.out.find("e2b") != std::string::npos);
}

TEST_CASE("version and help are found where people look for them")
{
    CHECK(parse({"--version"}).line->command == "version");
    CHECK(parse({"-V"}).line->command == "version");
    const auto help = parse({"help"});
    CHECK_FALSE(help.line);
    CHECK(help.status == 0);
    CHECK(help.out == parse({"--help"}).out);
    CHECK(parse({"help", "call"}).out == parse({"call", "--help"}).out);
    CHECK(parse({"help", "call"}).out != help.out);
    CHECK(parse({"help", "help"}).out == help.out);
    CHECK(parse({"help", "sessions"}).out == parse({"sessions", "--help"}).out);
    CHECK(parse({"help", "sessions", "kill"}).out == parse({"sessions", "kill", "--help"}).out);
    CHECK(parse({"help", "call", "read_file"}).out == parse({"help", "call"}).out);
    // After the settings, too.
    const auto call = parse({"call", "--help"}).out;
    CHECK(parse({"--state-dir", "/x", "help", "call"}).out == call);
    CHECK(parse({"--state-dir=/x", "--session", "help", "help", "call"}).out == call);
    CHECK(parse({"--state-dir", "/x", "help"}).out == help.out);
    CHECK(parse({"--session", "help", "call", "help"}).line->tool == "help");
}

TEST_CASE("the help of call has every tool, and a call to copy")
{
    const auto help = parse({"call", "--help"}).out;
    for (const auto& tool : berth::tools::all_tools()) {
        CHECK(help.find(tool.name) != std::string::npos);
    }
    CHECK(help.find("berth call bash_exec '{") != std::string::npos);
    CHECK(help.find("docs/tools.md") != std::string::npos);
}

TEST_CASE("help on what is no command is refused, at every depth")
{
    for (const auto& [words, error] :
         {std::pair{Words{"help", "nosuch"},
                    "berth: there is no command \"nosuch\"\n`berth --help` lists them.\n"},
          std::pair{Words{"help", "help", "nosuch"},
                    "berth: there is no command \"nosuch\"\n`berth --help` lists them.\n"},
          std::pair{Words{"--state-dir", "/x", "help", "nosuch"},
                    "berth: there is no command \"nosuch\"\n`berth --help` lists them.\n"},
          std::pair{Words{"help", "sessions", "nosuch"},
                    "berth: there is no command \"sessions nosuch\"\n`berth sessions --help` lists "
                    "them.\n"}}) {
        const auto parsed = parse(words);
        CHECK_FALSE(parsed.line);
        CHECK(parsed.status == 2);
        CHECK(parsed.out.empty());
        CHECK(parsed.err == error);
    }
}

TEST_CASE("what is mistyped is told with what was probably meant")
{
    const auto hint = [](Words words) {
        const auto parsed = parse(std::move(words));
        CHECK_FALSE(parsed.line);
        CHECK(parsed.status == 2);
        return parsed.err;
    };
    CHECK(hint({"srve"}).find("Did you mean serve?") != std::string::npos);
    CHECK(hint({"sessions", "lst"}).find("Did you mean list?") != std::string::npos);
    CHECK(hint({"sessions"}).find("`berth sessions --help`") != std::string::npos);
    CHECK(hint({"sessions", "kill"}).find("`berth sessions kill --help`") != std::string::npos);
    CHECK(hint({"call", "--json"}).find("`berth call --help`") != std::string::npos);
    for (const Words& words : {Words{"sessions", "kill", "--purge"}, Words{"sessions", "--json"}}) {
        CHECK(hint(words).find("Did you mean") == std::string::npos);
    }
    // Of a group the word that is none of its commands is named, and those there are.
    const std::string listed = "\n`berth sessions --help` lists what may follow: list, kill, show, "
                               "pause, resume, adopt, gc.\n";
    const std::string none = "berth: there is no command \"sessions nosuch\"";
    CHECK(hint({"--state-dir", "/x", "sessions", "nosuch"}) == none + listed);
    CHECK(hint({"sessions", "nosuch", "x"}) == none + listed);
    CHECK(hint({"--state-dir", "/x", "sessions", "lst"}) ==
          "berth: there is no command \"sessions lst\"\nDid you mean list?\n");
    CHECK(hint({"sessions"}).ends_with(listed));
    CHECK(hint({"--state-dir", "/x", "call"}).find("`berth call --help` lists what may follow.") !=
          std::string::npos);
    CHECK(hint({"sessions", "help", "list"}).find("Did you mean") == std::string::npos);
    CHECK(hint({"--sesion", "x"}).find("Did you mean --session?") != std::string::npos);
    CHECK(hint({"serve", "--netwrok=host"}).find("Did you mean --network?") != std::string::npos);
    // What there is, but not here.
    CHECK(hint({"sessions", "show", "x", "--purge"}) ==
          "berth: not expected: --purge\n--purge is an option of `berth sessions kill`.\n");
    CHECK(hint({"serve", "--json"}).find("--json is an option of `berth call`, ") !=
          std::string::npos);
    CHECK(hint({"serve", "--json"}).find(" and others.") != std::string::npos);
    CHECK(hint({"--json", "sessions", "list"}) ==
          "berth: not expected: --json\n--json belongs behind `berth sessions list`.\n");
    CHECK(hint({"sessions", "show", "x", "--prge"}).find("Did you mean --purge?") !=
          std::string::npos);
    // In the order in which they were typed.
    CHECK(hint({"x", "--sesion"}).starts_with("berth: not expected: x --sesion\n"));
    CHECK(hint({"serve", "--sesion", "x"}).starts_with("berth: not expected: --sesion x\n"));
    CHECK(hint({"--quite-something-else"}).find("berth --help") != std::string::npos);
}

TEST_CASE("a setting without a flag is told with what sets it, and only what is wrong is named")
{
    const auto told = [](Words words) { return parse(std::move(words)).err; };
    CHECK(told({"call", "--mount", "/a:/b", "--mount-mode", "ro", "bash_exec", "{}"}) ==
          "berth: not expected: --mount-mode\n"
          "mount_mode has no flag: set BERTH_MOUNT_MODE, or mount_mode in the file.\n");
    for (const char* flag : {"--exec-timeout", "--exec.timeout", "--exec-timeuot"}) {
        CHECK(told({"call", flag, "5", "bash_exec", "{}"}) ==
              "berth: not expected: " + std::string(flag) +
                  "\nexec.timeout has no flag: set BERTH_EXEC_TIMEOUT, or exec.timeout in the "
                  "file.\n");
    }
    CHECK(told({"--session.quota", "5MiB", "status"}).find("set BERTH_SESSION_QUOTA, or") !=
          std::string::npos);
    // Also where one of the words that the command needs has gone to it.
    CHECK(told({"call", "--exec-timeout"}).starts_with("berth: not expected: --exec-timeout\n"));
    CHECK(told({"sessions", "kill", "--all"}) ==
          "berth: not expected: --all\n"
          "There is no --all: give them one by one; `berth sessions list` has their names.\n");
}

TEST_CASE("words of other programs, and commands of a group without it, are told what does that")
{
    const auto told = [](Words words) { return parse(std::move(words)).err; };
    CHECK(told({"sessions", "stop", "u"}) ==
          "berth: there is no command \"sessions stop\"\n"
          "Did you mean `berth sessions pause` or `berth sessions kill`?\n");
    CHECK(told({"exec", "ls"}).find("`berth call bash_exec '{\"command\": \"ls\"}'` runs a") !=
          std::string::npos);
    CHECK(told({"read_file", "{}"}).find("Did you mean `berth call read_file`?") !=
          std::string::npos);
    for (const auto& [words, command] :
         {std::pair{Words{"list"}, "list"}, std::pair{Words{"list", "--json"}, "list"},
          std::pair{Words{"ls"}, "list"}, std::pair{Words{"gc"}, "gc"},
          std::pair{Words{"kill", "x"}, "kill"}, std::pair{Words{"killl", "x"}, "kill"}}) {
        const auto error = told(words);
        CAPTURE(error);
        CHECK(error.ends_with("Did you mean `berth sessions " + std::string(command) + "`?\n"));
    }
}

TEST_CASE("a word too many is told with what the command takes")
{
    const auto told = [](Words words) { return parse(std::move(words)).err; };
    CHECK(told({"sessions", "kill", "a", "b", "c"}) ==
          "berth: not expected: b c\n`berth sessions kill` takes KEY and flags; `berth sessions "
          "kill --help` lists them.\n");
    // What stands behind a command is no command.
    CHECK(told({"status", "kill"}) == "berth: not expected: kill\n`berth status` takes nothing "
                                      "but flags; `berth status --help` lists them.\n");
    for (const auto& words :
         {Words{"sessions", "gc", "x"}, Words{"sessions", "list", "x"}, Words{"doctor", "x"}}) {
        CHECK(told(words).find("takes nothing but flags; `berth ") != std::string::npos);
    }
    CHECK(told({"call", "bash_exec", "{}", "{}"}).find("`berth call` takes TOOL and JSON and") !=
          std::string::npos);
    CHECK(told({"serve", "--quite-something-else"}).find("`berth serve --help`") !=
          std::string::npos);
    CHECK(told({"--quite-something-else"}).find("`berth --help` lists") != std::string::npos);
}

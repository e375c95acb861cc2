#include "sandbox/base/error.hpp"
#include "server/options/command_variables.hpp"
#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::server;
using berth::server::tests::Bench;
using berth::server::tests::has;

namespace {

using Variables = std::map<std::string, std::string>;

struct Sources : Bench {
    CommandVariables of(const std::vector<std::string>& secrets,
                        const std::vector<std::string>& env = {})
    {
        return {{.items = env, .origin = "flag --env"},
                {.items = secrets, .origin = "profile ci"},
                [this](const std::string& name) -> std::optional<std::string> {
                    const auto found = variables.find(name);
                    return found == variables.end() ? std::nullopt : std::optional(found->second);
                },
                memory};
    }

    std::shared_ptr<SecretMemory> memory = std::make_shared<SecretMemory>();

    void put(const std::string& content) const { std::ofstream(file_path()) << content; }

    [[nodiscard]] std::string file_path() const { return directory + "/secret"; }

    [[nodiscard]] std::string item() const { return "TOKEN=file:" + file_path(); }

    std::string refusal_of(const CommandVariables& asked)
    {
        try {
            (void)asked.now();
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::sandbox_unavailable);
            CHECK(has(error.what(), "nothing was run"));
            CHECK(has(error.what(), "profile ci"));
            return error.what();
        }
        return {};
    }

    std::string wrong(const std::string& item, const std::vector<std::string>& env = {})
    {
        try {
            (void)of({item}, env);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            return error.what();
        }
        return {};
    }
};

} // namespace

TEST_CASE("a secret is read for each command, from where it is then")
{
    Sources sources;
    sources.put("first\n");
    sources.variables["OWN"] = "of the server";
    const auto variables = sources.of({sources.item(), "OTHER=env:OWN"}, {"A=1=2"});
    CHECK(variables.now() ==
          Variables{{"A", "1=2"}, {"OTHER", "of the server"}, {"TOKEN", "first"}});
    sources.put("second\r\n");
    CHECK(variables.now().at("TOKEN") == "second");
    sources.put("two\nlines\n\n");
    CHECK(variables.now().at("TOKEN") == "two\nlines\n");
    sources.put("");
    CHECK(variables.now().at("TOKEN").empty());
}

TEST_CASE("of a secret the values of now and the last ones before are known, to be masked")
{
    Sources sources;
    const auto variables = sources.of({sources.item()}, {"A=plain"});
    CHECK(variables.has_secrets());
    CHECK(variables.secrets().empty()); // it is not there yet
    sources.put("first");
    CHECK(variables.known_secrets().empty());
    CHECK(variables.secrets() == std::vector<tools::Secret>{{"TOKEN", "first"}});
    const auto copy = variables;
    for (const char* value : {"second", "third", "second", "fourth", "fifth"}) {
        sources.put(value);
        (void)copy.now();
    }
    CHECK(variables.known_secrets() ==
          std::vector<tools::Secret>{
              {"TOKEN", "third"}, {"TOKEN", "second"}, {"TOKEN", "fourth"}, {"TOKEN", "fifth"}});
    CHECK_FALSE(sources.of({}, {"A=plain"}).has_secrets());
}

TEST_CASE("whether commands have any is known, of whom what they print may be kept nowhere")
{
    Sources sources;
    CHECK(sources.of({sources.item()}).gives_secrets());
    CHECK_FALSE(sources.of({}, {"A=1"}).gives_secrets());
    const RawValue none{.items = {}, .origin = "default"};
    const RawValue secret{.items = {sources.item()}, .origin = "profile ci"};
    const auto nothing = [](const std::string&) { return std::optional<std::string>(); };
    const CommandVariables withheld(none, secret, nothing, sources.memory, {"TOKEN"});
    CHECK(withheld.has_secrets());
    CHECK_FALSE(withheld.gives_secrets()); // they have a placeholder
    Bench bench;
    bench.given.secret_memory = std::make_shared<SecretMemory>(); // as behind a reload
    CHECK_FALSE(bench.make().tools.gives_secrets);
    bench.variables = {{"BERTH_SECRET", "TOKEN=env:OWN"}, {"OWN", "hunter2-hunter2"}};
    CHECK(bench.make().tools.gives_secrets);
}

TEST_CASE("a secret that is not to be had is named, with its place, and nothing is run")
{
    Sources sources;
    const auto variables = sources.of({sources.item()});
    CHECK(has(sources.refusal_of(variables), "No such file"));
    CHECK(has(sources.refusal_of(variables), sources.file_path()));
    sources.put(std::string("a\0b", 3));
    CHECK(has(sources.refusal_of(variables), "NUL"));
    sources.put(std::string(64UL * 1024 + 1, 'x'));
    CHECK(has(sources.refusal_of(variables), "more than 65536 bytes"));
    sources.put(std::string(64UL * 1024, 'x'));
    CHECK(variables.now().at("TOKEN").size() == 64UL * 1024);
    ::unlink(sources.file_path().c_str());
    REQUIRE(::mkfifo(sources.file_path().c_str(), 0600) == 0);
    CHECK(has(sources.refusal_of(variables), "no regular file"));
    CHECK(has(sources.refusal_of(sources.of({"TOKEN=env:UNSET"})), "variable UNSET"));
    // The file may come; the server's variables stay as they are.
    for (const auto& [item, retryable] :
         {std::pair{sources.item(), true}, std::pair{std::string("TOKEN=env:UNSET"), false}}) {
        try {
            (void)sources.of({item}).now();
            FAIL_CHECK("nothing is refused");
        } catch (const Error& error) {
            CHECK(error.retryable() == retryable);
        }
    }
}

TEST_CASE("what is no source is refused, and not quoted: it may be the secret itself")
{
    Sources sources;
    for (const char* item : {"TOKEN=hunter2", "TOKEN=file:hunter2", "TOKEN=env:hunter-2",
                             "TOKEN=", "hunter2", "hunter2==", "hunter 2=env:A"}) {
        CAPTURE(item);
        const auto refusal = sources.wrong(item);
        CHECK(has(refusal, "secret (profile ci), entry 1: it is not of the form"));
        CHECK_FALSE(has(refusal, "hunter"));
    }
    CHECK(has(sources.wrong("A=env:B", {"A=1"}), "A is given twice"));
}

TEST_CASE("secrets are a setting of profiles, and berth config shows where they come from")
{
    Bench bench;
    bench.file("profile = \"ci\"\n[profiles.ci]\nsecret = [\"TOKEN=env:CI_TOKEN\"]\n");
    bench.variables["CI_TOKEN"] = "hunter2";
    const auto options = bench.make();
    CHECK(options.tools.command_variables() == Variables{{"TOKEN", "hunter2"}});
    CHECK(berth::server::tests::origin(options, "secret")
              .starts_with("TOKEN=env:CI_TOKEN from profile ci"));
    for (const auto& setting : options.settings) {
        CHECK_FALSE(has(setting.value, "hunter2"));
    }
    bench.variables.erase("CI_TOKEN");
    CHECK_NOTHROW((void)bench.make()); // the other commands of berth need none
}

#include "sandbox/base/error.hpp"
#include "server/options/session_key.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

KeyTemplate make(const std::string& text, const std::vector<std::string>& variables = {})
{
    return {{.items = {text}, .origin = "file:1"},
            {.items = variables, .origin = "flag --var"},
            "basic"};
}

/// Empty when nothing is refused.
std::string refusal(const std::string& text, const std::vector<std::string>& variables = {})
{
    try {
        (void)make(text, variables);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_FALSE(error.hint().empty());
        return error.what();
    }
    return {};
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

std::string hash(const KeyTemplate& keys, const std::string& principal, const std::string& name)
{
    return session::key_hash(keys.apply(principal, name));
}

} // namespace

TEST_CASE("the default template is principal and session, as they are")
{
    const auto keys = make("{principal}/{session}");
    CHECK(keys.apply("ann", "work") == session::SessionId{"ann", "work", {}});
    CHECK(keys.apply("ann", "") == session::SessionId{"ann", "", {}});
    CHECK(keys.apply("", "") == session::SessionId{"", "", {}});
    // Those of all who are nobody would be one.
    CHECK_THROWS_AS((void)keys.apply("", "work"), Error);
}

TEST_CASE("a variable keeps sessions of one name apart")
{
    const std::string text = "{principal}/{team}/{session}";
    std::set<std::string> hashes{hash(make("{principal}/{session}"), "ann", "work")};
    hashes.insert(hash(make(text, {"team=red"}), "ann", "work"));
    hashes.insert(hash(make(text, {"team=blue"}), "ann", "work"));
    hashes.insert(hash(make(text, {"team=red"}), "bob", "work"));
    hashes.insert(hash(make(text, {"team=red"}), "ann", "play"));
    // Nobody who may choose one value can write himself into another's place.
    hashes.insert(hash(make(text, {"team=red/work"}), "ann", ""));
    hashes.insert(hash(make(text, {"team=r"}), "ann", "ed/work"));
    hashes.insert(hash(make(text, {"team=3:red"}), "ann", "work"));
    CHECK(hashes.size() == 8);
    CHECK(make(text, {"team=red"}).apply("ann", "work").session == "work");
    // As with the default, no name means a session that ends with its server.
    CHECK(make(text, {"team=red"}).apply("ann", "") == session::SessionId{"ann", "", {}});
}

TEST_CASE("a template without a session's name is one session for all who share the rest")
{
    const auto everybody = make("{global}");
    CHECK(hash(everybody, "ann", "") == hash(everybody, "bob", ""));
    CHECK(hash(everybody, "ann", "work") == hash(everybody, "ann", ""));
    CHECK(everybody.apply("ann", "").session == "global");
    const auto own = make("{principal}");
    CHECK(hash(own, "ann", "") != hash(own, "bob", ""));
    CHECK(hash(own, "ann", "") == hash(own, "ann", "work"));
}

TEST_CASE("a variable that is near another is told which")
{
    const auto hint = [](const std::string& text) {
        try {
            (void)make(text, {"team=red"});
        } catch (const Error& error) {
            return error.hint();
        }
        return std::string();
    };
    CHECK(hint("{principal}/{sesion}") ==
          "Did you mean {session}? Set it with --var sesion=VALUE or BERTH_VAR.");
    CHECK(has(hint("{taem}/{session}"), "Did you mean {team}?"));
    CHECK(hint("{project}/{team}") == "Set it with --var project=VALUE or BERTH_VAR.");
}

TEST_CASE("a variable that is not set refuses")
{
    CHECK(has(refusal("{team}/{session}"), "the variable {team} is not set"));
    CHECK(has(refusal("{team}/{session}"), "session.key = \"{team}/{session}\" (file:1)"));
    CHECK(hash(make("{profile}/{session}"), "ann", "work") ==
          hash(make("{team}/{session}", {"team=basic"}), "ann", "work"));
    CHECK(has(refusal("{principal}/{session}", {"team=red"}),
              "var \"team=red\" (flag --var) is not used by session.key"));
    CHECK_THROWS_AS((void)make("{principal}").apply("", ""), Error);
}

TEST_CASE("what is no template or no variable is named")
{
    for (const auto* text : {"{team", "team}", "{}", "{Team}", "{te am}", "{{team}}", "", "one"}) {
        CAPTURE(text);
        CHECK_FALSE(refusal(text, {}).empty());
    }
    for (const auto* variable :
         {"team", "=red", "team=", "Team=red", "te-am=red", "session=x", "global=x", "team=\xff"}) {
        CAPTURE(variable);
        CHECK_FALSE(refusal("{team}", {variable}).empty());
    }
    CHECK(has(refusal("{team}", {"team"}), "it is not NAME=VALUE"));
    CHECK(has(refusal("{team}", {"=red"}), "the NAME before = is missing"));
    CHECK(has(refusal("{team}", {"A=b"}), "the name \"A\" is not of a-z"));
    CHECK_FALSE(refusal("{team}", {"team=" + std::string(257, 'x')}).empty());
    CHECK(has(refusal("{team}", {"team=red", "team=blue"}), "it is \"red\" already"));
    CHECK(refusal("{team}", {"team=red", "team=red"}).empty());
    CHECK(refusal("a{team}b", {"team=a=b"}).empty());
}

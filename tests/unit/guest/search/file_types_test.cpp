#include "sandbox/base/error.hpp"
#include "sandbox/guest/search/file_types.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::Error;
using berth::ErrorCode;
using berth::guest::search::file_type_globs;

namespace {

/// What is asked of an unknown type: "did you mean <this>?"; empty without that question.
std::string meant(const std::string& type)
{
    try {
        (void)file_type_globs(type);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        const std::string hint = error.hint();
        const std::string asked = "did you mean ";
        const auto begin = hint.find(asked);
        return begin == std::string::npos
                   ? std::string()
                   : hint.substr(begin + asked.size(), hint.find('?') - begin - asked.size());
    }
    return "known";
}

} // namespace

TEST_SUITE("guest/search/file_types")
{
    TEST_CASE("an ending is told the types of its files")
    {
        CHECK(meant("rs") == "rust");
        CHECK(meant("rb") == "ruby or puppet");
        CHECK(meant("tsx") == "ts");
        CHECK(meant("jsx") == "js");
        CHECK(meant("bash") == "sh");
        CHECK(meant("hpp") == "h or cpp");
        CHECK(meant("yml") == "yaml");
        CHECK(meant("Makefile") == "make");
        for (const char* spelled : {".rs", "*.rs", "RS", "rs,py", "rs py"}) {
            CAPTURE(spelled);
            CHECK(meant(spelled) == "rust");
        }
    }

    TEST_CASE("what others call a type by is told the type")
    {
        CHECK(meant("typescript") == "ts");
        CHECK(meant("Python") == "py");
        CHECK(meant("javascript") == "js");
        CHECK(meant("golang") == "go");
        CHECK(meant("c++") == "cpp");
        CHECK(meant("C#") == "cs");
        CHECK(meant("text") == "txt");
        CHECK(meant("shell") == "sh");
    }

    TEST_CASE("a slip is told the nearest name, and what is near none no name")
    {
        CHECK(meant("Rust") == "rust");
        CHECK(meant("py,rust") == "py");
        CHECK(meant("pyt") == "py");
        CHECK(meant("haskel") == "haskell");
        CHECK(meant("nosuch").empty());
        CHECK(meant("").empty());
        CHECK(meant(".").empty());
        CHECK(meant(std::string(1 << 20, 'r')).empty());
    }

    TEST_CASE("every name that is told is one")
    {
        for (const char* other : {"assembler",   "assembly",      "delphi",
                                  "ecmascript",  "emacs",         "f#",
                                  "hcl",         "jsonlines",     "latex",
                                  "node",        "nodejs",        "notebook",
                                  "objective-c", "objective-c++", "objectivec",
                                  "plain",       "plaintext",     "powershell",
                                  "pwsh",        "python3",       "restructuredtext",
                                  "scheme",      "terraform",     "visualbasic"}) {
            CAPTURE(other);
            const auto type = meant(other);
            CHECK(type != "known");
            CHECK(meant(type) == "known");
        }
    }
}

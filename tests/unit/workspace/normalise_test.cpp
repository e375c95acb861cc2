#include "sandbox/workspace/store.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

using namespace berth;
using workspace::normalise;

TEST_SUITE("workspace/normalise")
{
    TEST_CASE("every way to write a path means the same file")
    {
        CHECK(normalise("a") == "/a");
        CHECK(normalise("/a") == "/a");
        CHECK(normalise("a//b/./c") == "/a/b/c");
        CHECK(normalise("./a/b/") == "/a/b");
        CHECK(normalise("//") == "/");
        CHECK(normalise(".") == "/");
        CHECK(normalise("...") == "/...");
        CHECK(normalise("a b/\xc3\xbc\xe4\xba\x8c") == "/a b/\xc3\xbc\xe4\xba\x8c");
    }

    TEST_CASE("what leads elsewhere or nowhere is refused")
    {
        const std::string nul("a\0b", 3);
        for (const std::string& path :
             {std::string(), std::string(".."), std::string("/../etc/passwd"), std::string("a/.."),
              std::string("a/../b"), nul}) {
            CAPTURE(path);
            CHECK(tests::error_of([&] { (void)normalise(path); }) == ErrorCode::invalid_path);
        }
    }

    TEST_CASE("a NUL is shown, and what follows it")
    {
        try {
            (void)normalise(std::string("a\0b", 3));
            FAIL("no error");
        } catch (const Error& error) {
            CHECK(std::string(error.what()).find("'a\\x00b'") != std::string::npos);
        }
    }

    TEST_CASE("limits hold at their edge")
    {
        CHECK(normalise(std::string(255, 'n')).size() == 256);
        CHECK(tests::error_of([] { (void)normalise(std::string(256, 'n')); }) ==
              ErrorCode::invalid_path);
        std::string deep;
        for (int i = 0; i < 100; ++i) {
            deep += "/d";
        }
        CHECK(normalise(deep) == deep);
        CHECK(tests::error_of([&] { (void)normalise(deep + "/d"); }) == ErrorCode::invalid_path);
        std::string wide;
        while (wide.size() <= 4095) {
            wide += "/" + std::string(200, 'w');
        }
        CHECK(tests::error_of([&] { (void)normalise(wide); }) == ErrorCode::invalid_path);
    }
}

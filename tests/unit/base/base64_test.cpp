#include "sandbox/base/base64.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::base64_decode;
using berth::base64_encode;

TEST_CASE("base64 of RFC 4648, section 10")
{
    CHECK(base64_encode("") == "");
    CHECK(base64_encode("f") == "Zg==");
    CHECK(base64_encode("fo") == "Zm8=");
    CHECK(base64_encode("foo") == "Zm9v");
    CHECK(base64_encode("foobar") == "Zm9vYmFy");
}

TEST_CASE("every byte survives base64, at every length")
{
    std::string bytes;
    for (int i = 0; i < 520; ++i) {
        CHECK(base64_decode(base64_encode(bytes)) == bytes);
        bytes += static_cast<char>(i * 7);
    }
}

TEST_CASE("base64 that is cut off, damaged or ambiguous is refused")
{
    for (const auto* text : {"Z", "Zg", "Zg=", "Zg===", "====", "=Zg=", "Z=g=", "Zg==Zg==", "Zm9v=",
                             "Zm 9v", "Zm9-", "Zm9_", "Zh==", "Zm9=", "Zm9vé"}) {
        INFO(text);
        CHECK_FALSE(base64_decode(text).has_value());
    }
    CHECK(base64_decode("Zm9v\r\nYmFy\n") == "foobar");
}

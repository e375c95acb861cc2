#include "sandbox/base/percent.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::percent_decoded;
using berth::percent_encoded;

TEST_CASE("half a percent sign is no text")
{
    for (const std::string text : {"%", "a%2", "%zz", "%0g", "%00"}) {
        CAPTURE(text);
        CHECK_FALSE(percent_decoded(text));
    }
}

TEST_CASE("what is percent-encoded is plain, and comes back")
{
    std::string all;
    for (int byte = 1; byte < 256; ++byte) {
        all += static_cast<char>(byte);
    }
    const auto encoded = percent_encoded(all);
    CHECK(encoded.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789-._~%") == std::string::npos);
    CHECK(percent_decoded(encoded) == all);
    CHECK(percent_encoded("a/b c") == "a%2Fb%20c");
    CHECK(percent_encoded("a/b c", "/") == "a/b%20c");
}

#include "sandbox/base/sha256.hpp"
#include "sandbox/workspace/footer.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::sha256_hex;
using berth::workspace::decode_footer;
using berth::workspace::Footer;
using berth::workspace::footer_size;

TEST_CASE("a footer is read in the form in which it is written, and in no other")
{
    const auto text = encode(Footer{.sha256 = sha256_hex("content"), .mode = 0755});
    CHECK(text.size() == footer_size);
    const auto read = decode_footer(text);
    REQUIRE(read);
    CHECK(read->sha256 == sha256_hex("content"));
    CHECK(read->mode == 0755);
    // With a checksum that fits.
    const auto check_at = text.size() - 12;
    for (const std::size_t at : {check_at - 6, check_at - 1}) {
        CAPTURE(at);
        auto other = text;
        other[at] = '5'; // for a blank
        other.replace(check_at, 11, sha256_hex(other.substr(0, check_at)).substr(0, 11));
        CHECK_FALSE(decode_footer(other));
    }
    for (const auto size : {std::size_t{0}, std::size_t{11}, text.size() - 1}) {
        CHECK_FALSE(decode_footer(text.substr(0, size)));
    }
}

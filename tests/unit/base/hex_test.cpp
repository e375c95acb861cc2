#include "sandbox/base/hex.hpp"

#include <doctest/doctest.h>

#include <string_view>

TEST_CASE("bytes as hexadecimal digits, and what each digit means")
{
    using namespace std::string_view_literals;
    CHECK(berth::hex_of("\x00\x0f\xf0\xff"sv) == "000ff0ff");
    CHECK(berth::hex_of("\xab\xcd"sv, berth::large_hex_digits) == "ABCD");
    for (int byte = 0; byte < 256; ++byte) {
        CAPTURE(byte);
        const auto digit = static_cast<char>(byte);
        const auto small = berth::small_hex_digits.find(digit);
        const auto place =
            small != std::string_view::npos ? small : berth::large_hex_digits.find(digit);
        const auto value = berth::hex_value(digit);
        CHECK(value.has_value() == (place != std::string_view::npos));
        CHECK((!value || *value == place));
    }
}

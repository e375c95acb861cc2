#include "server/rpc/json_text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

TEST_CASE("how large a text becomes is known before it is written")
{
    std::string all;
    for (int byte = 1; byte < 0x80; ++byte) {
        all += static_cast<char>(byte);
    }
    for (const std::string& text :
         {std::string(), std::string("plain"), all, std::string("\0\x1f\x7f", 3),
          std::string("\xc2\x80\xc2\x9f\xc2\xa0\xc3\xa4"), std::string("\"\\\n\t\r\b\f")}) {
        CAPTURE(text);
        std::string quoted;
        rpc::append_quoted(quoted, text);
        CHECK(rpc::quoted_size(text) == quoted.size());
    }
}

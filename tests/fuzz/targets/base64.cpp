// Base64 of a call or a notebook.

#include "sandbox/base/base64.hpp"

#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>

BERTH_FUZZ_TARGET(base64)
{
    using berth::fuzz::require;
    using namespace berth;
    require(base64_decode(base64_encode(input)) == std::string(input),
            "what is encoded comes back");
    if (const auto bytes = base64_decode(input)) {
        std::string text(input);
        std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
        require(base64_encode(*bytes) == text, "bytes have one form");
    }
}

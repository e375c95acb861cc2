#include "sandbox/base/error.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

using berth::errno_error;
using berth::Error;
using berth::ErrorCode;

TEST_CASE("an error from errno says what to do where errno alone tells it")
{
    for (const int number : {EIO, EMFILE, ENFILE, ENOMEM, ESTALE, EBUSY, ETXTBSY, EFBIG}) {
        CAPTURE(number);
        CHECK_FALSE(errno_error(number, "read /a").hint().empty());
        CHECK(errno_error(number, "read /a", "look").hint() == "look");
    }
    CHECK(errno_error(ETXTBSY, "write /a").code() == ErrorCode::permission_denied);
    CHECK(errno_error(ETXTBSY, "write /a").hint().find("stop it") != std::string::npos);
    // These depend on what was tried: whoever tried it knows, or else the code's own hint is told.
    CHECK(errno_error(ENOENT, "open /a").hint().empty());
    CHECK(errno_error(EINVAL, "open /a").hint().empty());
}

TEST_CASE("only what passes by itself may be tried again as it was, unless who throws knows better")
{
    for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
        const auto code = static_cast<ErrorCode>(i);
        CAPTURE(to_string(code));
        Error error(code, "it failed");
        CHECK(error.retryable() == (code == ErrorCode::busy || code == ErrorCode::conflict));
        CHECK(error.set_retryable(!error.retryable()).retryable() ==
              (code != ErrorCode::busy && code != ErrorCode::conflict));
    }
}

#include "sandbox/base/error.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

using berth::errno_error;
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

#include "sandbox/guest/files/owner.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include <unistd.h>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;

namespace {

/// What an ordinary user is told of a file of this mode, their own or not, in this group.
std::string told(bool own, gid_t group, mode_t mode)
{
    return as_nobody([&] {
        struct stat status = {};
        status.st_uid = own ? ::geteuid() : ::geteuid() + 1;
        status.st_gid = group;
        status.st_mode = S_IFREG | mode;
        const auto error = not_writable(status, "f is read-only", ": no", "chmod u+w");
        CHECK(error.code() == ErrorCode::permission_denied);
        throw std::runtime_error(std::string(error.what()) + "; " + error.hint().substr(0, 12));
    });
}

} // namespace

TEST_CASE("whose a file is, is told where that is in the way, and not its mode")
{
    constexpr gid_t unknown = 65534;
    CHECK(told(true, 1000, 0444) == "f is read-only: no; chmod u+w");
    CHECK(told(true, unknown, 0444) == "f is read-only: no; chmod u+w");
    CHECK(told(true, unknown, 0644) ==
          "f is read-only, as it belongs to another group of the host: no; chmod cannot");
    CHECK(told(false, 1000, 0644) ==
          "f is read-only, as it belongs to another user of the host: no; chmod cannot");
    if (::geteuid() == 0) { // for whom only the mode can be in the way
        struct stat status = {};
        status.st_uid = 1;
        CHECK(not_writable(status, "f", "", "hint").hint() == "hint");
    }
}

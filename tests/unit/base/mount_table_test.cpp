#include "sandbox/base/mount_table.hpp"

#include <doctest/doctest.h>

using namespace berth;

namespace {

// A disk of the system, one of data at /data, a part of each somewhere else, and a container's
// /proc; one line is none.
const MountTable host = MountTable::parse(R"(22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 8:2 / /data rw shared:2 master:1 - xfs /dev/sdb1 rw
24 22 8:2 /a\040b/state /opt/alias rw - xfs /dev/sdb1 rw
25 22 8:1 /var/lib/berth/sessions /srv/project/books rw - ext4 /dev/sda1 rw
26 22 0:21 / /srv/chroot/proc rw - proc proc rw
27 23 0:22 / /data rw - tmpfs none rw
nonsense
28 22 0:23 / /srv-other rw - tmpfs none rw
29 22 8:3 / /covered/x rw - xfs /dev/sdc1 rw
30 22 8:1 /var/lib/berth /covered rw - ext4 /dev/sda1 rw)");

using Names = std::vector<std::string>;

Names seen(const std::string& tree, const std::string& folder, Seen how = Seen::in_part)
{
    return seen_at(host.pieces(tree), host.pieces(folder), how);
}

} // namespace

TEST_CASE("a path is a piece of the file system of its innermost mount")
{
    const auto pieces = host.pieces("/opt/alias/x");
    REQUIRE(pieces.size() == 1);
    CHECK(pieces.front().device == "8:2");
    CHECK(pieces.front().path == "/a b/state/x");
    CHECK(pieces.front().name == "/opt/alias/x");
    CHECK(pieces.front().type == "xfs");
    CHECK(host.pieces("/data/x").front().device == "0:22"); // the later mount is on top
    // The mount on /covered/x is out of reach: another one lies on the folder that it is in.
    CHECK(host.pieces("/covered/x").front().path == "/var/lib/berth/x");
    CHECK(host.pieces("/datax").front().device == "8:1");
    CHECK(host.pieces("/").front().path == "/");
    CHECK(MountTable::parse("").pieces("/").empty());
    CHECK(host.pieces("").empty());
}

TEST_CASE("a table that changed while it was read may have a circle, and ends none the less")
{
    const auto circle = MountTable::parse("1 9 8:1 / / rw - ext4 a rw\n"
                                          "2 1 8:2 / / rw - ext4 b rw\n"
                                          "1 2 8:3 / / rw - ext4 c rw\n");
    CHECK_FALSE(circle.pieces("/a/b").empty());
}

TEST_CASE("what is mounted below a path comes after it")
{
    const auto pieces = host.pieces("/srv");
    REQUIRE(pieces.size() == 3);
    CHECK(pieces.at(1).name == "/srv/project/books");
    CHECK(pieces.at(1).path == "/var/lib/berth/sessions");
    CHECK(pieces.at(2).type == "proc");
    CHECK(host.pieces("/").size() == 9); // a covered mount too
}

TEST_CASE("a folder is found by each of its names, and so is a part of it")
{
    CHECK(seen("/var", "/var/lib/berth") == Names{"/var/lib/berth"});
    CHECK(seen("/var/lib/berth/sessions/x", "/var/lib/berth") ==
          Names{"/var/lib/berth/sessions/x"});
    CHECK(seen("/srv", "/var/lib/berth") == Names{"/srv/project/books"});
    CHECK(seen("/srv", "/var/lib/berth", Seen::whole).empty());
    CHECK(seen("/srv", "/var/lib/berth/sessions/one", Seen::whole) ==
          Names{"/srv/project/books/one"});
    CHECK(seen("/srv/project/other", "/var/lib/berth").empty());
    CHECK(seen("/opt", "/opt/alias") == Names{"/opt/alias"});
    CHECK(seen("/var/lib/berth2", "/var/lib/berth").empty());
    // The outermost name covers those in it.
    CHECK(seen("/", "/var") == Names{"/covered", "/srv/project/books", "/var"});
}

#include "sandbox/guest/files/overwrite.hpp"
#include "sandbox/guest/files/temporary_file.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

#include <sched.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/xattr.h>

using berth::Error;
using berth::ErrorCode;
using berth::UniqueFd;
using berth::guest::copy_content;
using berth::guest::find_write_target;
using berth::guest::overwrite;
using berth::guest::temporary_name;
using berth::guest::TemporaryFile;
using berth::guest::write_file;
using berth::guest::WriteTarget;
using berth::guest::testing::as_nobody;
using berth::guest::testing::error_of;
using berth::guest::testing::in_own_mounts;
using berth::guest::testing::Machine;
namespace protocol = berth::protocol;

namespace {

void put(const Machine& machine, const std::string& path)
{
    protocol::WriteFileRequest request;
    request.path = path;
    request.content = "new";
    (void)write_file(request, machine.context);
}

} // namespace

TEST_CASE("old content that cannot be put back stays in a file, and the error names it")
{
    const Machine machine;
    machine.put("f", "the old content");
    machine.put("new", "the new content, longer");
    const WriteTarget target = find_write_target("f", machine.context);
    // Nothing can be written to it: neither the new content nor, then, the old.
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    const UniqueFd content(::open((machine.home + "/new").c_str(), O_RDONLY | O_CLOEXEC));
    std::string kept;
    {
        TemporaryFile backup(target.directory.get(), target.directory_path, 0600);
        copy_content(file.get(), backup.fd(), 15, "f", machine.context);
        const Error error = error_of([&] {
            overwrite(file.get(), {content.get(), 23}, {backup, 15}, target, machine.context);
        });
        REQUIRE(error.details().contains("backup"));
        kept = error.details().at("backup");
        CHECK(std::string(error.what()).find("it is in " + kept) != std::string::npos);
    }
    REQUIRE(kept.starts_with(machine.home + "/berth-backup-"));
    CHECK(machine.get(kept.substr(machine.home.size() + 1)) == "the old content");
    CHECK(machine.count() == 3);
}

TEST_CASE("a folder's default ACL lets nobody in whom a file that is written anew did not")
{
    // Version 2; owner rwx, user 1234 rwx, group ---, mask rwx, others ---.
    struct Entry {
        std::uint16_t tag, permissions;
        std::uint32_t id;
    };

    constexpr std::uint32_t nobody = ~0U;

    const struct {
        std::uint32_t version = 2;
        std::array<Entry, 5> entries{
            {{1, 7, nobody}, {2, 7, 1234}, {4, 0, nobody}, {16, 7, nobody}, {32, 0, nobody}}};
    } acl;

    static_assert(sizeof(acl) == 4 + 5 * 8);
    const Machine machine;
    machine.put("f", "old", 0640);
    REQUIRE(::setxattr(machine.home.c_str(), "system.posix_acl_default", &acl, sizeof(acl), 0) ==
            0);
    put(machine, "f");
    CHECK(machine.get("f") == "new");
    CHECK((machine.status("f").st_mode & 0777U) == 0640);
    const auto path = machine.home + "/f";
    CHECK(::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) == -1);
    // One of its own it keeps.
    REQUIRE(::setxattr(path.c_str(), "system.posix_acl_access", &acl, sizeof(acl), 0) == 0);
    put(machine, "f");
    CHECK(::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) == sizeof(acl));
}

TEST_CASE("a write removes what a killed guest has left in the directory, and nothing else")
{
    // Another test's directory, with the same inode, must not have been made in the same tick.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Machine machine;
    const std::string left = temporary_name();
    const std::string alive = temporary_name();
    const std::string users = ".berth-0123456789abcdef-0123456789abcdef.tmp";
    for (const auto& name : {left, alive, users, left + ".txt", "x" + left}) {
        machine.put(name, "content");
    }
    const std::string directory = temporary_name();
    const std::string link = temporary_name();
    ::mkdir((machine.home + "/" + directory).c_str(), 0755);
    machine.link(users, link);
    const UniqueFd writer(::open((machine.home + "/" + alive).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(writer.get(), LOCK_EX | LOCK_NB) == 0);

    put(machine, "f");
    CHECK_FALSE(machine.exists(left));
    for (const auto& name : {alive, users, left + ".txt", "x" + left, directory, link}) {
        CAPTURE(name);
        CHECK(machine.exists(name));
    }
    CHECK(machine.count() == 7);
}

TEST_CASE("a leftover is looked at as NFS wants it, and one that may not be written goes too")
{
    // NFS makes flock a lock of fcntl, which is exclusive on a descriptor for writing only.
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // as above
    const Machine machine;
    const std::string left = temporary_name();
    machine.put(left, "content");
    const UniqueFd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    REQUIRE(::inotify_add_watch(events.get(), machine.home.c_str(),
                                IN_CLOSE_WRITE | IN_CLOSE_NOWRITE) >= 0);
    put(machine, "f");
    CHECK_FALSE(machine.exists(left));
    alignas(inotify_event) char buffer[16 * 1024];
    const ssize_t size = ::read(events.get(), buffer, sizeof(buffer));
    std::uint32_t seen = 0;
    for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        seen |= event->len > 0 && event->name == left ? event->mask : 0U;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    CHECK(seen == IN_CLOSE_WRITE);

    // It had its mode already; root's modes mean nothing.
    const Machine other;
    ::chmod(other.base.c_str(), 0777);
    ::chmod(other.home.c_str(), 0777);
    CHECK(as_nobody([&] {
              other.put(left, "content", 0444);
              put(other, "f");
          }).empty());
    CHECK(other.count() == 1);
}

TEST_CASE("a file that was replaced is not locked")
{
    const Machine machine;
    machine.put("f", "old");
    const WriteTarget target = find_write_target("f", machine.context);
    TemporaryFile temporary(target.directory.get(), target.directory_path, 0644);
    REQUIRE(temporary.rename_to("f", false) == 0);
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(::flock(file.get(), LOCK_EX | LOCK_NB) == 0);
    CHECK(machine.count() == 1);
}

TEST_CASE("holes of a file with hard links are as good as a full disk, before it is touched")
{
    const Machine machine;
    CHECK(in_own_mounts([&] {
              REQUIRE(::mount("berth", machine.home.c_str(), "tmpfs", 0, "size=128k") == 0);
              const std::string f = machine.home + "/f";
              machine.put("f", "old");
              int failed = ::link(f.c_str(), (machine.home + "/g").c_str());
              failed |= ::truncate(f.c_str(), 60'000);
              try {
                  protocol::WriteFileRequest request;
                  request.path = "f";
                  request.content = std::string(50'000, 'n');
                  (void)write_file(request, machine.context);
                  failed |= 2;
              } catch (const Error& error) {
                  failed |=
                      error.code() == ErrorCode::no_space && error.details().count("backup") == 0
                          ? 0
                          : 4;
              }
              failed |= machine.get("f") == "old" + std::string(59'997, '\0') ? 0 : 8;
              failed |= machine.count() == 2 ? 0 : 16;
              return failed;
          }) == 0);
}

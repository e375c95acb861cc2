#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/quota/home_quota.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <functional>
#include <string>

#include <sys/mount.h>

// A limit that the kernel keeps. A small tmpfs as the home stands in for a project: statfs(2) tells
// both the same way, and both refuse in the middle of a write.

using namespace berth; // NOLINT(google-build-using-namespace): the tested namespace
using berth::guest::HomeQuota;
using berth::guest::testing::error_of;
using berth::guest::testing::in_own_mounts;
using berth::guest::testing::Machine;

namespace {

constexpr std::uint64_t mebibyte = 1024UL * 1024;

/// In a child that has the mount for itself. Two 1 MiB files of four that the home may have.
int with_small_home(const std::function<void(Machine&, HomeQuota&)>& work)
{
    return in_own_mounts([&] {
        Machine machine;
        REQUIRE(::mount("none", machine.home.c_str(), "tmpfs", 0, "size=4m") == 0);
        machine.config.quota = 1; // the number is the kernel's
        machine.config.quota_by_kernel = true;
        machine.config.spill_directory = machine.base;
        machine.put("old", std::string(2 * mebibyte, 'o'));
        HomeQuota quota(machine.config);
        machine.context.quota = &quota;
        int result = 1;
        try {
            work(machine, quota);
            result = 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
        ::umount2(machine.home.c_str(), MNT_DETACH);
        return result;
    });
}

void require(bool condition, const char* what)
{
    if (!condition) {
        throw std::runtime_error(what);
    }
}

void write(Machine& machine, const std::string& path, std::uint64_t size,
           protocol::WriteMode mode = protocol::WriteMode::overwrite)
{
    protocol::WriteFileRequest request;
    request.path = path;
    request.content = std::string(size, 'n');
    request.mode = mode;
    (void)guest::write_file(request, machine.context);
}

} // namespace

TEST_CASE("kernel quota: limit and room are those of statfs, at any time")
{
    CHECK(with_small_home([](Machine& machine, HomeQuota& quota) {
              const auto state = quota.state();
              require(state.by_kernel && state.limit == 4 * mebibyte, "the limit");
              require(state.used && *state.used == 2 * mebibyte, "the room");
              machine.put("more", std::string(mebibyte, 'm'));
              require(quota.state().used == 3 * mebibyte, "the room after a write");
              require(quota.count() == 3 * mebibyte, "the count");
              require(::mount("none", machine.home.c_str(), "tmpfs", MS_REMOUNT, "size=8m") == 0,
                      "a larger home");
              require(quota.state().limit == 8 * mebibyte, "the limit that was changed");
          }) == 0);
}

TEST_CASE("kernel quota: a write without room is refused with the numbers, and nothing is left")
{
    CHECK(with_small_home([](Machine& machine, HomeQuota&) {
              for (const auto mode :
                   {protocol::WriteMode::overwrite, protocol::WriteMode::append}) {
                  const auto error = error_of([&] { write(machine, "old", 3 * mebibyte, mode); });
                  require(error.code() == ErrorCode::quota_exceeded, "the code");
                  require(error.details().at("limit_bytes") == std::to_string(4 * mebibyte),
                          "the limit");
                  require(error.details().contains("used_bytes"), "the room");
                  require(machine.get("old") == std::string(2 * mebibyte, 'o'), "the old content");
                  require(machine.count() == 1, "files");
              }
              // Room for both until one has the other's place.
              write(machine, "old", mebibyte);
              write(machine, "new", 2 * mebibyte);
          }) == 0);
}

TEST_CASE("kernel quota: an error in the middle of a write is told as the limit that it was")
{
    CHECK(with_small_home([](Machine& machine, HomeQuota& quota) {
              const auto told = [&](ErrorCode code) {
                  return quota.explain(Error(code, "write x: full", "hint"));
              };
              require(told(ErrorCode::quota_exceeded).details().contains("limit_bytes"), "EDQUOT");
              // XFS says ENOSPC; the disk, which has more room, was not what was in the way.
              const auto error = told(ErrorCode::no_space);
              require(error.code() == ErrorCode::quota_exceeded, "ENOSPC");
              require(std::string(error.what()).starts_with("write x: full: the home has "),
                      "what failed");
              require(told(ErrorCode::conflict).code() == ErrorCode::conflict, "another error");
              auto kept = Error(ErrorCode::no_space, "x", "y").with_detail("backup", "z");
              require(quota.explain(kept).details().contains("backup"), "one with a backup");
              // The disk has no more than the home: then it is the disk.
              machine.config.spill_directory = machine.home;
              const HomeQuota narrow(machine.config);
              require(narrow.explain(Error(ErrorCode::no_space, "x", "y")).code() ==
                          ErrorCode::no_space,
                      "a full disk");
          }) == 0);
}

// What berth's user may read and no session shall: where it lies below a folder that every sandbox
// shows, or in a folder that is mounted into one.

#include "sandbox/base/error.hpp"
#include "sandbox/local/local_backend.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

constexpr uid_t nobody = 65534;

void require(bool done, const char* what)
{
    if (!done) {
        throw std::runtime_error(what);
    }
}

void make_folder(const std::string& path, uid_t owner)
{
    require(::mkdir(path.c_str(), 0755) == 0 && ::chown(path.c_str(), owner, owner) == 0,
            "make a folder");
}

/// In a process of its own: mounts that only it sees, with an empty /opt.
void own_mounts()
{
    require(::unshare(CLONE_NEWNS) == 0 &&
                ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount("none", "/opt", "tmpfs", 0, "mode=755") == 0,
            "cover /opt");
}

/// What a command sees below /opt, where a service has its home, its workspace and, by a bind
/// mount, its state.
std::string seen_in_opt(bool ordinary_user)
{
    own_mounts();
    const uid_t owner = ordinary_user ? nobody : 0;
    Bench bench;
    require(::chown(bench.directory().c_str(), owner, owner) == 0, "chown");
    require(::chmod(bench.directory().c_str(), 0755) == 0, "chmod");
    for (const char* folder :
         {"/opt/alias", "/opt/data", "/opt/home", "/opt/moved", "/opt/shown"}) {
        make_folder(folder, owner);
    }
    require(::mount(bench.directory().c_str(), "/opt/alias", nullptr, MS_BIND, nullptr) == 0,
            "bind");
    write_text("/opt/home/key", "secret");
    write_text("/opt/moved/key", "secret");
    require(::symlink("../home", "/opt/data/link") == 0, "link");
    write_text("/opt/shown/file", "for everybody\n");
    write_text("/opt/shown/alone", "");
    make_folder(bench.state(), owner);
    require(::chmod(bench.state().c_str(), 0700) == 0, "chmod");
    write_text(bench.state() + "/errors.jsonl", "secret");
    require(::chmod((bench.state() + "/errors.jsonl").c_str(), 0644) == 0 &&
                ::mount((bench.state() + "/errors.jsonl").c_str(), "/opt/shown/alone", nullptr,
                        MS_BIND, nullptr) == 0,
            "bind a file");
    require(!ordinary_user || become_ordinary_user(), "become a user");
    ::setenv("HOME", "/opt/data/link", 1); // NOLINT(concurrency-mt-unsafe): one thread
    bench.use_backend(local::make_backend({.guest_program = program("BERTH_TEST_GUEST"),
                                           .launcher_program = program("BERTH_TEST_LAUNCHER"),
                                           .state_directory = bench.state(),
                                           .workspace = "/opt/data/workspace"}));
    bench.make();
    bench.destroy();
    // Since the first machine the service's home has been moved behind its link.
    require(::unlink("/opt/data/link") == 0 && ::symlink("../moved", "/opt/data/link") == 0,
            "turn a link");
    bench.make();
    write_text("/opt/data/workspace/late", "secret");
    auto seen = bench.run(
        "cd /opt && cat shown/file shown/alone && ls -A alias/state data/link/ data/workspace "
        "2>&1; touch moved/x 2>&1 | grep -o 'Read-only.*'");
    bench.destroy(true);
    return seen;
}

constexpr const char* nothing_private = "for everybody\n"
                                        "alias/state:\n\ndata/link/:\n\ndata/workspace:\n"
                                        "Read-only file system\n";

} // namespace

TEST_CASE("berth's folders and its user's home are empty inside, wherever they lie")
{
    if (!is_root()) {
        return; // mounts have to be made; root tries an ordinary user's machine below
    }
    CHECK(told_by_child([] { return seen_in_opt(false); }) == nothing_private);
    CHECK(told_by_child([] { return seen_in_opt(true); }) == nothing_private);
}

TEST_CASE("a mount source with berth's folders or the kernel's mounted below it is refused")
{
    if (!is_root()) {
        return;
    }
    const auto refusal = [](const char* type, const std::string& mounted) {
        return told_by_child([&] {
            own_mounts();
            Bench bench;
            bench.make();
            bench.destroy();
            make_folder("/opt/project", 0);
            make_folder("/opt/project/below", 0);
            const std::string what = mounted.empty() ? bench.state() + "/sessions" : mounted;
            const unsigned long flags = *type == '\0' ? MS_BIND : 0;
            require(::mount(what.c_str(), "/opt/project/below", type, flags, nullptr) == 0,
                    "mount");
            auto spec = Bench::spec();
            spec.mounts = {{"/opt/project", "/mnt/project", false}};
            try {
                bench.make(spec);
            } catch (const Error& error) {
                return std::string(error.what()).substr(0, std::string(error.what()).find("/var/"));
            }
            bench.destroy(true);
            return std::string("mounted");
        });
    };
    CHECK(refusal("", "") == "mount source /opt/project contains or lies in berth's own folder ");
    CHECK(refusal("proc", "proc") == "mount source /opt/project has a file system of the kernel in "
                                     "it: proc on /opt/project/below");
    CHECK(refusal("sysfs", "sysfs").ends_with("sysfs on /opt/project/below"));
    CHECK(refusal("tmpfs", "tmpfs") == "mounted");
}

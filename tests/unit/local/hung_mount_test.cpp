// A mount whose file system answers nobody: NFS or FUSE, whose server is away.

#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "tests/unit/local/machine_fixture.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

void require(bool done, const char* what)
{
    if (!done) {
        throw std::runtime_error(what);
    }
}

/// A file system of this process, at `place`, seen by it alone. Whoever asks it for anything waits
/// until it ends.
class HungFileSystem {
  public:
    explicit HungFileSystem(const std::string& place) : place_(place)
    {
        require(::unshare(CLONE_NEWNS) == 0 &&
                    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
                "have mounts of its own");
        device_.reset(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
        const std::string options = "fd=" + std::to_string(device_.get()) +
                                    ",rootmode=40000,user_id=0,group_id=0,allow_other";
        require(device_ && ::mkdir(place.c_str(), 0755) == 0 &&
                    ::mount("hung", place.c_str(), "fuse", 0, options.c_str()) == 0,
                "mount a file system that hangs");
        begin();
    }

    /// Until somebody waits for an answer. Its number.
    std::uint64_t wait_for_a_question()
    {
        std::array<std::byte, FUSE_MIN_READ_BUFFER> question{};
        fuse_in_header header{};
        require(::read(device_.get(), question.data(), question.size()) >= ssize_t{sizeof header},
                "hear a question");
        std::memcpy(&header, question.data(), sizeof header);
        return header.unique;
    }

    /// Who waits is told of an error, and its folder can be removed.
    void end()
    {
        device_.reset();
        require(::umount2(place_.c_str(), MNT_DETACH) == 0, "unmount it");
    }

  private:
    /// Before this the kernel asks nothing else.
    void begin()
    {
        struct {
            fuse_out_header header{};
            fuse_init_out body{};
        } answer;

        answer.header.len = sizeof answer;
        answer.header.unique = wait_for_a_question();
        answer.body.major = FUSE_KERNEL_VERSION;
        answer.body.minor = FUSE_KERNEL_MINOR_VERSION;
        answer.body.max_write = 4096;
        require(::write(device_.get(), &answer, sizeof answer) == sizeof answer, "begin");
    }

    const std::string place_;
    UniqueFd device_;
};

std::string outcome_of(Bench& bench, const sandbox::MachineSpec& spec)
{
    try {
        bench.make(spec);
        return "made";
    } catch (const std::exception& error) {
        return error.what();
    }
}

/// What comes of another session's machine while one waits for such a mount; of that one too.
std::string beside_a_hung_mount()
{
    Bench bench;
    const std::string place = bench.directory() + "/hung";
    bench.make(); // what a server does but once is done
    bench.destroy();
    HungFileSystem hung(place);
    auto waiting_spec = Bench::spec("waits");
    waiting_spec.mounts = {{.source = place, .target = "/mnt/hung", .writable = true}};
    std::string waited = "made";
    std::thread waiting([&] {
        try {
            (void)bench.backend().create(waiting_spec);
        } catch (const std::exception&) {
            waited = "refused";
        }
    });
    std::string other = "nobody asked";
    try {
        (void)hung.wait_for_a_question();
        other = outcome_of(bench, Bench::spec("other"));
    } catch (const std::exception& error) {
        other = error.what();
    }
    hung.end();
    waiting.join();
    if (other == "made") {
        bench.destroy(true);
    }
    return other + ", " + waited;
}

} // namespace

TEST_CASE("a mount that hangs keeps no session waiting but its own")
{
    if (!is_root() || ::access("/dev/fuse", F_OK) != 0) {
        return; // an ordinary user's machines have one uid, and no lock
    }
    CHECK(told_by_child(beside_a_hung_mount) == "made, refused");
}

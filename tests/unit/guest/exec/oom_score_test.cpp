// Before a file that stands for the process's own: a host's root may not have what it takes to be
// spared, as in a container.

#include "sandbox/base/io.hpp"
#include "sandbox/guest/exec/oom_score.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

using berth::guest::OomScore;

namespace {

class ScoreFile {
  public:
    explicit ScoreFile(const std::string& given) { std::ofstream(path()) << given; }

    /// What `use` said, of a process whose score is that file.
    std::string when(const std::function<std::string(const ScoreFile&)>& use) const
    {
        const auto said = folder_ / "said";
        const pid_t child = ::fork();
        if (child == 0) {
            stand_in();
            std::ofstream(said) << use(*this);
            std::_Exit(0);
        }
        ::waitpid(child, nullptr, 0);
        return berth::read_file_limited(AT_FDCWD, said, 1000);
    }

    /// What was written since the last time.
    [[nodiscard]] std::string take() const
    {
        auto content = berth::read_file_limited(AT_FDCWD, path(), 100);
        std::filesystem::resize_file(path(), 0);
        return content + ' ';
    }

    [[nodiscard]] std::string path() const { return folder_ / "score"; }

  private:
    void stand_in() const
    {
        // Mounts of one's own, for which an ordinary user needs a user namespace.
        const int spaces = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
        if (::unshare(spaces) != 0 ||
            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount(path().c_str(), "/proc/self/oom_score_adj", nullptr, MS_BIND, nullptr) != 0) {
            std::_Exit(1);
        }
    }

    const berth::tests::TemporaryDirectory folder_;
};

} // namespace

TEST_CASE("a guest that is spared is never killed, and what it starts has the score it was given")
{
    const ScoreFile file("100\n");
    CHECK(file.when([](const ScoreFile& score) {
        const auto spared = OomScore::spared();
        auto written = score.take();
        {
            const OomScore::Raised raised(spared);
            written += score.take();
        }
        return written + score.take();
    }) == "-1000 100 -1000 ");
}

TEST_CASE("what a guest starts that is not spared is killed before it")
{
    const ScoreFile file("700\n");
    CHECK(file.when([](const ScoreFile& score) {
        const auto own = OomScore::of_this_process();
        auto written = score.take();
        {
            const OomScore::Raised raised(own);
            written += score.take();
        }
        return written + score.take();
    }) == "700\n 1000 700 ");
}

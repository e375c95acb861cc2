#include "sandbox/guest/exec/process_tree.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

// What a command has left is neither lost from sight nor taken to be there for ever.

namespace berth::guest::test {
namespace {

using std::chrono::milliseconds;

/// Forks, and ends as the parent, again and again: in a list of processes it is one that has ended
/// by the time it is looked at. For some seconds: whoever loses it cannot end it.
std::string fork_chain(const std::string& word)
{
    return "perl -e 'my $end = time + 8; while (time < $end) { exit if fork }' " + word + " & true";
}

/// No look that has not seen it proves anything.
bool runs(const std::string& word)
{
    for (int look = 0; look < 20; ++look) {
        if (processes_with(word) != 0) {
            return true;
        }
    }
    return false;
}

/// Of this process alone, in whatever cgroup it is put.
class Stranger {
  public:
    Stranger() : pid_(::fork())
    {
        if (pid_ == 0) {
            for (;;) {
                ::pause();
            }
        }
    }

    ~Stranger() { end(); }

    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;

    void join(const std::filesystem::path& cgroup) const
    {
        std::ofstream file(cgroup / "cgroup.procs");
        file << pid_ << std::flush;
        REQUIRE(file.good());
    }

    void end() const { ::kill(pid_, SIGKILL); }

  private:
    pid_t pid_;
};

bool runs_in_cgroups()
{
    const auto all = modes();
    return std::ranges::find(all, Mode::cgroup) != all.end();
}

} // namespace

TEST_CASE("what forks and ends without a pause is not lost from sight when its shell has ended")
{
    in_each_mode([](Mode mode) {
        Guest guest(mode);
        for (int round = 0; round < 15; ++round) {
            CAPTURE(round);
            const auto word = unique_word();
            const auto done = guest.run(fork_chain(word));
            REQUIRE(!done.error);
            if (done.reply.job_id.empty()) { // a guest that is slow has seen none for too long
                CHECK_FALSE(runs(word));
                continue;
            }
            CHECK(kill(guest, done.reply.job_id, SIGTERM, 0).state.survivors == 0);
            CHECK_FALSE(runs(word));
        }
        CHECK(guest.until([&] { return guest.commands->running() == 0; }));
    });
}

TEST_CASE("a cgroup that is empty only after its last process was reaped ends its job")
{
    if (!runs_in_cgroups()) {
        return; // where no cgroup is, none is looked at
    }
    const Stranger stranger;
    int cgroup_fd = -1;
    Guest guest(Mode::cgroup,
                [&](protocol::GuestConfig& config) { cgroup_fd = config.commands_cgroup_fd; });
    const auto done = guest.run("sleep 0.3 & true");
    REQUIRE_FALSE(done.reply.job_id.empty());
    const std::filesystem::directory_iterator all("/proc/self/fd/" + std::to_string(cgroup_fd));
    const auto own =
        std::find_if(begin(all), end(all), [](const auto& entry) { return entry.is_directory(); });
    REQUIRE(own != end(all));
    stranger.join(own->path());
    guest.spin(milliseconds(800));
    CHECK(guest.commands->jobs().size() == 1); // something is in there
    stranger.end();
    CHECK(guest.until([&] { return guest.commands->jobs().empty(); }));
    CHECK(guest.until([&] { return guest.commands->running() == 0; }));
}

} // namespace berth::guest::test

#include "sandbox/guest/exec/limit_counts.hpp"
#include "tests/unit/descriptor_limit.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/guest/exec/job_fixture.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include <fcntl.h>

// Plain files in place of the counters of a session's cgroup, which commands can write to here.

namespace berth::guest::test {

using protocol::Fate;

namespace {

UniqueFd counter(const std::string& path)
{
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(fd);
    return fd;
}

/// A guest whose session counts refused processes in `pids` of its home, periods in `cpu`.
class CountedGuest {
  public:
    explicit CountedGuest(Mode mode = Mode::subreaper)
        : guest(mode, [this](protocol::GuestConfig& config) {
              pids_ = counter(config.home + "/pids");
              cpu_ = counter(config.home + "/cpu");
              config.pids_events_fd = pids_.get();
              config.cpu_stat_fd = cpu_.get();
              config.limit_pids = 100;
          })
    {
    }

  private:
    UniqueFd pids_;
    UniqueFd cpu_;

  public:
    Guest guest;
};

} // namespace

TEST_CASE("what met a limit is counted in the form of either version, and nothing where none is")
{
    const tests::TemporaryDirectory directory;
    protocol::GuestConfig config;
    const UniqueFd pids = counter(directory / "pids");
    const UniqueFd cpu = counter(directory / "cpu");
    CHECK(limit_counts(config).refused_processes == 0);
    config.pids_events_fd = pids.get();
    config.cpu_stat_fd = cpu.get();
    std::ofstream(directory / "pids") << "max 3\n";
    for (const char* text : {"nr_periods 7\nnr_throttled 5\nthrottled_time 4200000\n",
                             "usage_usec 9\nnr_periods 7\nnr_throttled 5\nthrottled_usec 4200\n"}) {
        std::ofstream(directory / "cpu") << text;
        const auto counts = limit_counts(config);
        CHECK(counts.refused_processes == 3);
        CHECK(counts.cpu_periods == 7);
        CHECK(counts.throttled_periods == 5);
        CHECK(counts.throttled_time == 4200);
        CHECK(counts.since({.throttled_periods = 2}).throttled_periods == 3);
        CHECK(counts.since({.throttled_periods = 6}).throttled_periods == 0);
    }
}

TEST_CASE("the limit of processes: told in the result of the command that ran, and of no other")
{
    in_each_mode([](Mode mode) {
        CountedGuest counted(mode);
        Guest& guest = counted.guest;
        const auto hit = guest.run("echo max 3 >pids; echo done").reply;
        CHECK(hit.fate == Fate::exited);
        CHECK(hit.notice == "the limit of 100 processes (local.pids) was reached: the kernel "
                            "refused 3 new processes of this session while the command ran");
        REQUIRE(hit.limit_hits);
        CHECK(hit.limit_hits->refused_processes == 3);
        CHECK_FALSE(hit.limit_hits->refused_of_command);
        const auto next = guest.run("true").reply;
        CHECK(next.notice.empty());
        CHECK_FALSE(next.limit_hits);
    });
}

TEST_CASE("the limit of processor time: told of what ran, a job's until its shell ended")
{
    CountedGuest counted;
    Guest& guest = counted.guest;
    const auto job = guest.run(in_background("until [ -s cpu ]; do sleep 0.01; done")).reply;
    CHECK_FALSE(job.limit_hits);
    const auto hit =
        guest.run("printf 'nr_periods 9\\nnr_throttled 4\\nthrottled_usec 70\\n' >cpu").reply;
    REQUIRE(hit.limit_hits);
    CHECK(hit.limit_hits->cpu_periods == 9);
    CHECK(hit.limit_hits->throttled_periods == 4);
    CHECK(hit.limit_hits->throttled_time == 70);
    CHECK(hit.notice.empty());
    REQUIRE(guest.until([&] { return guest.commands->jobs().empty(); }));
    const auto told = output(guest, job.job_id);
    REQUIRE(told.state.limit_hits);
    CHECK(told.state.limit_hits->throttled_periods == 4);
    CHECK_FALSE(guest.run("true").reply.limit_hits);
}

} // namespace berth::guest::test

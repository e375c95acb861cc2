// Whoever may rename what the server and its launcher touch by a name does so all the time while
// machines are made, and puts links and pipes there. A creation may fail of it; of
// the host nothing is changed or shown. Paths that are not in the table are made of descriptors
// (/proc/self/fd), are the kernel's (/proc/PID, cgroups, in which there are no links), or root's
// own (/usr, /etc, /opt).

#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/trees.hpp"
#include "sandbox/local/local_machine.hpp"
#include "tests/unit/local/machine_fixture.hpp"
#include "tests/unit/local/swapped_path.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local::test;

namespace {

using With = SwappedPath::With;

constexpr const char* word = "of the host alone";

/// Of .ci/full, which has more creations for each line and kind, and more lines. 0: not given.
int wanted_rounds()
{
    const char* given =
        std::getenv("BERTH_TEST_RACES");            // NOLINT(concurrency-mt-unsafe): one thread
    return given == nullptr ? 0 : std::atoi(given); // NOLINT(cert-err34-c): a test's
}

int rounds()
{
    return wanted_rounds() > 0 ? wanted_rounds() : 4;
}

/// What must stay as it is, in a folder with every name that a launch uses below a place.
class Bait {
  public:
    explicit Bait(const std::string& folder) : folder_(folder + "/bait")
    {
        for (const char* name : {"", "/in", "/src", "/berth", "/tmp", "/home", "/sessions"}) {
            std::filesystem::create_directory(folder_ + name);
            write_text(folder_ + name + "/secret", word);
        }
        before_ = told();
    }

    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

    [[nodiscard]] bool is_as_before() const { return told() == before_; }

    /// The change time tells of every write, new owner or mode, and of what was made or removed.
    [[nodiscard]] std::string told() const
    {
        std::ostringstream text;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
            tell(text, entry.path());
        }
        tell(text, folder_);
        return text.str();
    }

  private:
    static void tell(std::ostream& text, const std::string& path)
    {
        struct stat status{};
        ::lstat(path.c_str(), &status);
        text << path << ' ' << status.st_ino << ' ' << status.st_mode << ' ' << status.st_uid << ' '
             << status.st_ctim.tv_sec << '.' << status.st_ctim.tv_nsec << '\n';
    }

    std::string folder_;
    std::string before_;
};

/// A path that is swapped, below the bench's folder; `%` is the session's folder.
struct Line {
    const char* path;
    const char* leads_to; ///< below the bait; what the path's own name would be there
    const char* source;   ///< of a mount, below the bench's folder, or of none
    const char* target;
    bool writable;
};

// Who may swap these for real: a command by an earlier or another machine (home, a writable mount),
// and whoever owns the folder that a mount's source is in.
constexpr Line lines[] = {
    {"%/home/way", "", "src", "/home/user/way/in", false},
    {"%/home/last", "", "src", "/home/user/last", true},
    {"%/home/file", "/secret", "src/file", "/home/user/file", false},
    {"outer/in", "", "src", "/mnt/outer/in", false},
    {"outer/way", "", "src", "/mnt/outer/way/in", true},
    {"src", "", "src", "/mnt/src", true},
    {"src", "", "src", "/mnt/src", false},
    {"src/file", "/secret", "src/file", "/mnt/file", false},
    {"way", "", "way/src", "/mnt/src", true},
};

// Only berth's own user may swap these, who needs no machine for what he wants to change. A machine
// that cannot be ended meanwhile is waited for, so these take minutes: .ci/full has them.
constexpr Line own_lines[] = {
    {"state/sessions", "", nullptr, nullptr, false},
    {"%", "", nullptr, nullptr, false},
    {"%/home", "", nullptr, nullptr, false},
    {"%/tmp", "", nullptr, nullptr, false},
    {"%/var-tmp", "", nullptr, nullptr, false},
    {"%/var-tmp/berth", "", nullptr, nullptr, false},
    {"%/run", "", nullptr, nullptr, false},
    {"%/machine-id", "/secret", nullptr, nullptr, false},
    {"%/machine", "/secret", nullptr, nullptr, false},
    {"%/socket", "/secret", nullptr, nullptr, false},
    {"%/parting", "/secret", nullptr, nullptr, false},
    {"state/sockets", "", nullptr, nullptr, false},
};

class Races {
  public:
    Races() : bait_(bench_.directory())
    {
        for (const char* name : {"/src", "/way", "/way/src", "/outer", "/outer/in", "/outer/way"}) {
            std::filesystem::create_directory(bench_.directory() + name);
            ::chmod((bench_.directory() + name).c_str(), 0755);
        }
        write_text(bench_.directory() + "/src/file", "shown");
        bench_.make();
        bench_.run("mkdir -p way last; touch file");
        bench_.destroy();
    }

    /// What came of it that must not; a machine that could not be made is none of that.
    std::string run(const Line& line, With with)
    {
        const int times =
            with == With::link ? rounds() : 1 + rounds() / 4; // of which less can come
        std::string wrong;
        {
            const SwappedPath swapped(place(line), with, bait_.folder() + line.leads_to);
            for (int i = 0; i < times && wrong.empty(); ++i) {
                wrong = create(spec(line));
            }
        }
        end_left();
        if (wrong.empty() && !bait_.is_as_before()) {
            wrong = "it was changed:\n" + bait_.told();
        }
        return wrong;
    }

    [[nodiscard]] std::string place(const Line& line) const
    {
        const std::string path = line.path;
        const auto session = bench_.state() + "/sessions/" + Bench::spec().key_hash;
        return path.starts_with('%') ? session + path.substr(1) : bench_.directory() + '/' + path;
    }

    /// What a machine shows of the bait, or has mounted of it; nothing of one that failed.
    std::string create(const sandbox::MachineSpec& spec)
    {
        try {
            made_.push_back(bench_.make(spec).record());
        } catch (const Error&) {
            return {};
        }
        std::string seen;
        try {
            // Without waiting for whoever would write to a pipe.
            seen = bench_.run("grep /bait /proc/self/mountinfo; "
                              "grep -a -s -D skip 'of the host' /mnt/*/secret /mnt/file "
                              "/mnt/*/in/secret secret */secret */in/secret file /etc/machine-id");
        } catch (const std::exception&) {
            // Its socket is out of reach behind a name that is another's at this moment.
        }
        destroy(made_.back());
        return seen;
    }

    /// Of all machines that were made, how many ran on; they end.
    [[nodiscard]] std::ptrdiff_t end_living()
    {
        return std::ranges::count_if(std::exchange(made_, {}), [](const auto& record) {
            const auto guest = local::open_guest(local::facts_from(record));
            return guest.valid() && sys::pidfd_send_signal(guest.get(), SIGKILL) == 0;
        });
    }

    Bench& bench() noexcept { return bench_; }

    [[nodiscard]] const Bait& bait() const noexcept { return bait_; }

  private:
    [[nodiscard]] sandbox::MachineSpec spec(const Line& line) const
    {
        auto spec = Bench::spec();
        const bool nested = std::string(line.path).starts_with("outer");
        if (nested) {
            spec.mounts.push_back({bench_.directory() + "/outer", "/mnt/outer", true});
        }
        if (line.source != nullptr) {
            spec.mounts.push_back(
                {bench_.directory() + '/' + line.source, line.target, line.writable});
        }
        return spec;
    }

    void destroy(const sandbox::MachineRecord& record)
    {
        try {
            bench_.destroy();
        } catch (const std::exception&) {
            // The folder it is to be removed from is another one at this moment. Whoever keeps the
            // books tries again.
            left_.push_back(record);
        }
    }

    void end_left()
    {
        for (const auto& record : std::exchange(left_, {})) {
            try {
                bench_.backend().destroy(record, false);
            } catch (const std::exception&) {
                // It counts as living.
            }
        }
    }

    Bench bench_;
    Bait bait_;
    std::vector<sandbox::MachineRecord> made_;
    std::vector<sandbox::MachineRecord> left_; ///< of those, which could not be ended
};

/// Looks, and then acts by the name. What none of berth's code may do.
void look_and_write(const std::string& path)
{
    struct stat status{};
    if (::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
        std::this_thread::yield(); // a launch has milliseconds there
        const int fd = ::open((path + "/planted").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ::close(fd);
    }
}

} // namespace

TEST_CASE("who looks at a path and then uses it by its name is led astray")
{
    // Else the others would see nothing because nothing is swapped in time.
    Races races;
    const std::string path = races.bench().directory() + "/src";
    const SwappedPath swapped(path, With::link, races.bait().folder());
    for (int i = 0; i < 1'000'000 && races.bait().is_as_before(); ++i) {
        for (int each = 0; each < 100; ++each) {
            look_and_write(path);
        }
    }
    CHECK_FALSE(races.bait().is_as_before());
}

TEST_CASE(
    "of a mount's source only the one that was looked at is mounted, not another one of its name")
{
    if (!is_root()) {
        return; // the launcher clones nobody else's mounts
    }
    const Bench bench;
    const auto source = bench.directory() + "/judged";
    std::filesystem::create_directory(source);
    struct stat status{};
    REQUIRE(::stat(source.c_str(), &status) == 0);
    const std::vector<local::Bind> binds{{.source = source,
                                          .target = "/mnt/judged",
                                          .source_device = status.st_dev,
                                          .source_number = status.st_ino}};
    local::LaunchSpec spec;
    spec.privileged = true;
    CHECK(local::clone_trees(binds, spec).at(0).mount.valid());
    std::filesystem::rename(source, source + ".before"); // which lives, so its number is taken
    std::filesystem::create_directory(source);
    CHECK_THROWS_AS((void)local::clone_trees(binds, spec), local::Failure);
}

TEST_CASE(
    "whatever is swapped while machines are made, nothing else of the host is shown or changed")
{
    Races races;
    const auto run = [&](const Line& line) {
        std::ptrdiff_t living = 0;
        for (const auto with : {With::link, With::pipe}) {
            CAPTURE(std::string(line.path));
            CAPTURE(static_cast<int>(with));
            CHECK(races.run(line, with) == "");
            living += races.end_living();
        }
        return living;
    };
    for (const auto& line : lines) {
        CHECK(run(line) == 0);
    }
    if (wanted_rounds() > 0) {
        // These may look like a copy's meanwhile, or an earlier machine's note be in the place of
        // the last one's, and then the machine counts as another directory's to end (ADR 25).
        std::ranges::for_each(own_lines, run);
    }
    races.bench().make(Bench::spec("another")); // and it works still
    CHECK(races.bench().run("echo fine") == "fine\n");
}

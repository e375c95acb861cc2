// Creates and destroys sandboxes in turn with `bwrap --unshare-all … true`, and prints for each
// round "berth SECONDS", "behind SECONDS" for one that is made right behind that, and
// "bwrap SECONDS". Destruction is not timed, and neither pays
// for what the other leaves to the kernel (a network namespace is taken apart in the background).

#include "sandbox/base/process.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/local/local_backend.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

constexpr std::chrono::milliseconds settling{10};

template <class Work>
double seconds(Work work)
{
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run_bwrap()
{
    berth::SpawnOptions options;
    options.arguments = {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"};
    options.environment = {"PATH=/usr/bin:/bin"};
    auto process = berth::Process::spawn("/usr/bin/bwrap", options);
    if (process.wait(berth::Deadline()) != 0) {
        std::fputs("bwrap fails here\n", stderr);
        std::exit(1);
    }
}

struct Created {
    std::unique_ptr<berth::sandbox::Machine> machine;
    double seconds; ///< until its guest has answered
};

Created create(berth::sandbox::Backend& backend)
{
    berth::sandbox::MachineSpec spec;
    spec.key_hash = berth::random_hex(32);
    spec.session = "bench";
    spec.generation = berth::random_hex(16);
    spec.token = berth::random_hex(32);
    std::unique_ptr<berth::sandbox::Machine> machine;
    const double took = seconds([&] {
        machine = backend.create(spec);
        (void)machine->connect(berth::Deadline::after(std::chrono::seconds(10)));
    });
    return {.machine = std::move(machine), .seconds = took};
}

void run(const std::string& state, int rounds)
{
    berth::local::Settings settings;
    settings.guest_program = BERTH_GUEST;
    settings.launcher_program = BERTH_LAUNCHER;
    settings.guest_in_launcher = true;
    settings.state_directory = state;
    const auto backend = berth::local::make_backend(settings);
    // As the server does before its first machine.
    if (const auto available = backend->availability(); !available.available) {
        throw std::runtime_error(available.reason);
    }
    for (int round = -2; round < rounds; ++round) {
        Created one = create(*backend);
        // What launchers make ahead is not there again by then.
        Created behind = create(*backend);
        for (const auto* each : {&one, &behind}) {
            backend->destroy(each->machine->record(), true);
        }
        std::this_thread::sleep_for(settling);
        const double theirs = seconds(run_bwrap);
        std::this_thread::sleep_for(settling);
        if (round >= 0) {
            std::printf("berth %.9f\nbehind %.9f\nbwrap %.9f\n", one.seconds, behind.seconds,
                        theirs);
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    try {
        if (argc != 3) {
            std::fputs("usage: create-bench STATE-DIRECTORY ROUNDS\n", stderr);
            return 2;
        }
        run(argv[1], std::atoi(argv[2]));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}

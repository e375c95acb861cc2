// Makes, pauses, wakes and ends sessions as a server does that has many of them, and times each
// from within: what a start of `berth` costs is not in it. One command a line on standard input,
// one line for an answer on standard output ("error WHY" for one that failed). A NAME is
// PRINCIPAL/SESSION.
//
//     make NAME        a session's machine: seconds
//     run NAME COMMAND what it leaves running is kept; nothing is told
//     pause NAME       one request on a connection that is open: seconds
//     resume NAME      the same
//     end NAME         with its home
//
// At the end of the input, and where it breaks off, all that were made are ended so.

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/session/session_manager.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include <sys/resource.h>

namespace {

using namespace berth;

template <class Work>
std::string seconds(Work work)
{
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return std::to_string(took.count() * 1e6) + "e-6";
}

/// Nothing happens by itself meanwhile. Sessions are counted, as by a server of many people.
session::Settings settings_of(const std::string& state)
{
    session::Settings settings;
    settings.state_directory = state;
    settings.idle_pause = std::chrono::hours(12);
    settings.on_disconnect = protocol::OnDisconnect::keep;
    settings.max_sessions = 100'000;
    settings.max_sessions_per_principal = 64;
    return settings;
}

std::shared_ptr<sandbox::Backend> backend_of(const std::string& state)
{
    local::Settings settings;
    settings.guest_program = BERTH_GUEST;
    settings.launcher_program = BERTH_LAUNCHER;
    settings.guest_in_launcher = true;
    settings.state_directory = state;
    return local::make_backend(settings);
}

class Driver {
  public:
    explicit Driver(const std::string& state)
        : backend_(backend_of(state)), sessions_(settings_of(state), backend_)
    {
        // As the server does before its first machine.
        if (const auto available = backend_->availability(); !available.available) {
            throw std::runtime_error(available.reason);
        }
    }

    ~Driver()
    {
        for (const auto& [name, lease] : leases_) {
            try {
                sessions_.kill(id_of(name), true);
            } catch (const std::exception& error) {
                std::fprintf(stderr, "%s stays: %s\n", name.c_str(), error.what());
            }
        }
    }

    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    std::string obey(const std::string& line)
    {
        std::istringstream words(line);
        std::string verb;
        std::string name;
        std::string command;
        words >> verb >> name >> std::ws;
        std::getline(words, command);
        if (verb == "make") {
            return seconds([&] { leases_[name] = sessions_.acquire(id_of(name)); });
        }
        auto& sandbox = *leases_.at(name).sandbox;
        if (verb == "pause") {
            return seconds([&] { (void)sandbox.pause(); });
        }
        if (verb == "resume") {
            return seconds([&] { (void)sandbox.resume(); });
        }
        if (verb == "run") {
            run(sandbox, command);
            return "done";
        }
        if (verb == "end") {
            leases_.erase(name);
            sessions_.kill(id_of(name), true);
            return "done";
        }
        throw std::invalid_argument("no such command: " + line);
    }

  private:
    static session::SessionId id_of(const std::string& name)
    {
        const auto slash = name.find('/');
        return {name.substr(0, slash), name.substr(slash + 1), {}};
    }

    static void run(sandbox::Sandbox& sandbox, const std::string& command)
    {
        protocol::ExecuteRequest request;
        request.id = random_hex(16);
        request.command = command;
        request.timeout = 60'000;
        request.head_limit = request.tail_limit = 4096;
        const auto reply = sandbox.execute(request, {});
        if (reply.exit_code != 0) {
            throw std::runtime_error(command + ": exit code " + std::to_string(reply.exit_code));
        }
    }

    std::shared_ptr<sandbox::Backend> backend_;
    session::SessionManager sessions_;
    std::map<std::string, session::Lease> leases_;
};

/// Two connections for each of a thousand sessions.
void allow_descriptors()
{
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
    }
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::fputs("usage: session-bench STATE-DIRECTORY\n", stderr);
        return 2;
    }
    try {
        allow_descriptors();
        // Who asked may be gone before it is answered: then the input ends too.
        std::signal(SIGPIPE, SIG_IGN);
        Driver driver(argv[1]);
        std::cout << "ready" << std::endl;
        for (std::string line; std::getline(std::cin, line);) {
            try {
                std::cout << driver.obey(line) << std::endl;
            } catch (const std::exception& error) {
                std::cout << "error " << error.what() << std::endl;
            }
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}

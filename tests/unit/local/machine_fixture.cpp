#include "tests/unit/local/machine_fixture.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/remove_tree.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::local::test {

std::string program(const char* variable)
{
    const char* value = std::getenv(variable); // NOLINT(concurrency-mt-unsafe): tests, one thread
    return value == nullptr ? std::string() : value;
}

bool is_root()
{
    return ::geteuid() == 0;
}

bool become_ordinary_user()
{
    constexpr uid_t nobody = 65534;
    return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
           ::setresuid(nobody, nobody, nobody) == 0 && ::prctl(PR_SET_DUMPABLE, 1) == 0;
}

bool in_force(const sandbox::Machine& machine, const std::string& layer)
{
    const auto& layers = machine.layers();
    return std::any_of(layers.begin(), layers.end(), [&](const sandbox::Layer& each) {
        return each.name == layer && each.in_force;
    });
}

std::string told_by_child(const std::function<std::string()>& work)
{
    Pipe pipe = make_pipe();
    const pid_t child = ::fork();
    if (child == 0) {
        std::string text;
        try {
            text = work();
        } catch (const std::exception& error) {
            text = std::string("thrown: ") + error.what();
        }
        write_full(pipe.write.get(), text);
        ::_exit(0);
    }
    pipe.write.reset();
    std::string text(1UL << 16U, '\0');
    text.resize(read_full(pipe.read.get(), text.data(), text.size()));
    ::waitpid(child, nullptr, 0);
    return text;
}

std::string read_text(const std::string& path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void write_text(const std::string& path, const std::string& text)
{
    std::ofstream(path) << text;
}

bool exists(const std::string& path)
{
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0;
}

std::unique_ptr<sandbox::Backend> backend_with_guest(const Bench& bench)
{
    return make_backend({.guest_program = program("BERTH_TEST_REAL_GUEST"),
                         .launcher_program = program("BERTH_TEST_LAUNCHER"),
                         .guest_in_launcher = true,
                         .state_directory = bench.state()});
}

Bench::Bench()
{
    std::string pattern = "/var/tmp/berth-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("mkdtemp");
    }
    directory_ = pattern;
    backend_ = make_backend({.guest_program = program("BERTH_TEST_GUEST"),
                             .launcher_program = program("BERTH_TEST_LAUNCHER"),
                             .state_directory = state()});
}

Bench::~Bench()
{
    if (machine_ && backend_) {
        backend_->destroy(machine_->record(), true);
    }
    remove_tree(AT_FDCWD, directory_);
}

sandbox::MachineSpec Bench::spec(const std::string& name)
{
    sandbox::MachineSpec spec;
    spec.key_hash = sha256_hex(name);
    spec.session = name;
    spec.generation = random_hex(16);
    spec.token = random_hex(16);
    return spec;
}

sandbox::Machine& Bench::make(const sandbox::MachineSpec& spec)
{
    machine_ = backend_->create(spec);
    return *machine_;
}

std::string Bench::run(const std::string& script)
{
    using std::chrono::seconds;
    const UniqueFd socket =
        connect_unix(machine_->record().data.at("socket"), Deadline::after(seconds(30)));
    (void)!::write(socket.get(), script.data(), script.size());
    ::shutdown(socket.get(), SHUT_WR);
    std::string output;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(socket.get(), buffer, sizeof buffer)) > 0;) {
        output.append(buffer, static_cast<std::size_t>(size));
    }
    return output;
}

void Bench::destroy(bool purge)
{
    backend_->destroy(machine_->record(), purge);
    machine_.reset();
}

} // namespace berth::local::test

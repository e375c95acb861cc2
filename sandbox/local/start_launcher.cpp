#include "sandbox/local/start_launcher.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/process.hpp"
#include "sandbox/protocol/wire.hpp"

#include <chrono>
#include <csignal>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::local {
namespace {

// Longer than the launcher's own patience with the guest.
constexpr std::chrono::seconds patience{30};

UniqueFd spec_file(const LaunchSpec& spec)
{
    UniqueFd fd(::memfd_create("berth-spec", MFD_CLOEXEC));
    if (!fd) {
        throw_errno("memfd_create");
    }
    write_full(fd.get(), protocol::encode(spec));
    if (::lseek(fd.get(), 0, SEEK_SET) != 0) {
        throw_errno("rewind the spec");
    }
    return fd;
}

LaunchResult failure(const char* text)
{
    LaunchResult result;
    result.step = "launcher";
    result.text = text;
    return result;
}

LaunchResult read_result(int fd)
{
    const Deadline deadline = Deadline::after(patience);
    std::string text;
    for (;;) {
        pollfd waiting{fd, POLLIN, 0};
        if (::poll(&waiting, 1, deadline.poll_timeout()) == 0) {
            return failure("the launcher did not answer");
        }
        char buffer[4096];
        const ssize_t size = ::read(fd, buffer, sizeof buffer);
        if (size > 0) {
            text.append(buffer, static_cast<std::size_t>(size));
        } else if (size == 0 || errno != EINTR) {
            break;
        }
    }
    if (text.empty()) {
        return failure("the launcher ended without an answer");
    }
    try {
        return protocol::decode<LaunchResult>(text);
    } catch (const protocol::WireError&) {
        return failure("the launcher's answer cannot be read");
    }
}

} // namespace

LaunchResult start_launcher(const std::string& program, const LaunchSpec& spec, int lifetime_fd)
{
    const UniqueFd file = spec_file(spec);
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        throw_errno("socketpair");
    }
    const UniqueFd ours(pair[0]);
    UniqueFd theirs(pair[1]);
    SpawnOptions options;
    options.arguments = {"berth-launcher"};
    options.descriptors = {{file.get(), launcher_spec_fd}, {theirs.get(), launcher_control_fd}};
    if (lifetime_fd >= 0) {
        options.descriptors.emplace_back(lifetime_fd, launcher_lifetime_fd);
    }
    options.new_session = true;
    Process process = Process::spawn(program, options);
    theirs.reset();
    LaunchResult result = read_result(ours.get());
    if (!process.wait(Deadline::after(std::chrono::seconds(5)))) {
        process.signal(SIGKILL);
        (void)process.wait(Deadline());
    }
    return result;
}

} // namespace berth::local

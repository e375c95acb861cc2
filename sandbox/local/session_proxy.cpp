#include "sandbox/local/session_proxy.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/process.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/filter/policy.hpp"
#include "sandbox/protocol/wire.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <system_error>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr std::chrono::seconds patience_with_proxy{10};

Error no_proxy(const std::string& why)
{
    return {ErrorCode::sandbox_unavailable,
            "no sandbox can be made: the proxy of a filtered network does not start: " + why,
            "It is the program berth-proxy, installed beside berth-launcher. --network none goes "
            "without."};
}

/// What it says on its standard output, to the end of that.
std::string hear(int pipe)
{
    const auto deadline = Deadline::after(patience_with_proxy);
    std::string said;
    std::array<char, 512> buffer{};
    while (wait_readable(pipe, deadline)) {
        const ssize_t size = ::read(pipe, buffer.data(), buffer.size());
        if (size <= 0) {
            return said;
        }
        said.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return "it says nothing";
}

} // namespace

UniqueFd start_session_proxy(const std::string& program, const sandbox::MachineSpec& spec,
                             std::uint32_t user)
{
    if (spec.network != sandbox::Network::filtered) {
        return {};
    }
    const filter::Policy policy{.allow = spec.filter.allow,
                                .deny = spec.filter.deny,
                                .inner = spec.filter.inner,
                                .user = user};
    std::array<int, 2> ends{};
    // Of messages: of a stream the guest would have to find where one denial ends.
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw_errno("make a socket for the proxy");
    }
    UniqueFd sessions(ends[0]);
    const UniqueFd proxys(ends[1]);
    const UniqueFd rules = make_memory_file("berth-rules", protocol::encode(policy));
    Pipe output = make_pipe();
    SpawnOptions options;
    options.arguments = {"berth-proxy"};
    options.descriptors = {{proxys.get(), filter::control_fd},
                           {rules.get(), filter::policy_fd},
                           {output.write.get(), STDOUT_FILENO}};
    options.new_session = true;
    Process process;
    try {
        process = Process::spawn(program, options);
    } catch (const std::system_error& error) {
        throw no_proxy(program + ": " + error.code().message());
    }
    output.write.reset();
    const auto said = hear(output.read.get());
    process.end(); // what is the server's child of it has ended by itself, or is of no use
    if (said != std::string(1, filter::ready)) {
        throw no_proxy(said.empty() ? "it ended without a word" : visible(said));
    }
    return sessions;
}

} // namespace berth::local

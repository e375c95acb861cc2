#include "sandbox/local/session_proxy.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/process.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/filter/policy.hpp"
#include "sandbox/filter/secret_rule.hpp"
#include "sandbox/local/cgroup_files.hpp"
#include "sandbox/local/proxy_secrets.hpp"
#include "sandbox/local/stale_sockets.hpp"
#include "sandbox/local/trust_files.hpp"
#include "sandbox/placeholder.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>
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

/// By name, with all places of each.
std::vector<filter::WithheldSecret> withheld_of(const sandbox::MachineSpec& spec)
{
    std::vector<filter::WithheldSecret> secrets;
    for (const auto& text : spec.filter.secrets) {
        const auto rule = filter::parse_secret_rule(text);
        auto found = std::ranges::find(secrets, rule.name, &filter::WithheldSecret::name);
        if (found == secrets.end()) {
            secrets.push_back({.name = rule.name,
                               .placeholder = sandbox::placeholder_of(spec.token, rule.name),
                               .places = {}});
            found = std::prev(secrets.end());
        }
        found->places.push_back(rule.place.to_text());
    }
    return secrets;
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

/// Of one that is ready. Nothing: it is not.
std::optional<SessionProxy> heard_of(std::string_view said, UniqueFd session)
{
    const auto line = said.find('\n');
    pid_t pid = 0;
    if (!said.starts_with(filter::ready) || line == std::string_view::npos ||
        std::from_chars(said.data() + 1, said.data() + line, pid).ptr != said.data() + line) {
        return std::nullopt;
    }
    // A pidfd while it waits for the launch: one that has ended even so has none.
    return SessionProxy{.session = std::move(session),
                        .authority = std::string(said.substr(line + 1)),
                        .process = Process(pid, UniqueFd(sys::pidfd_open(pid, 0)))};
}

} // namespace

bool opens_tls(const sandbox::MachineSpec& spec)
{
    return std::ranges::any_of(spec.filter.secrets, [](const std::string& text) {
        return filter::parse_secret_rule(text).place.is_tls;
    });
}

std::string replaced_bundle(const sandbox::MachineSpec& spec)
{
    return opens_tls(spec) && spec.template_name.empty() ? find_host_bundle({}).usual_path : "";
}

SessionProxy start_session_proxy(const std::string& program, const sandbox::MachineSpec& spec,
                                 std::uint32_t user, const std::string& socket_path,
                                 const std::string& certificates)
{
    if (spec.network != sandbox::Network::filtered) {
        return {};
    }
    const filter::Policy policy{.allow = spec.filter.allow,
                                .deny = spec.filter.deny,
                                .inner = spec.filter.inner,
                                .user = user,
                                .server = ::geteuid(),
                                .secrets = withheld_of(spec),
                                .certificates = certificates,
                                .max_sent = spec.filter.max_sent};
    UniqueFd secrets;
    if (!policy.secrets.empty()) {
        secrets = listen_beside_stale(secrets_socket_of(socket_path));
    }
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
    if (secrets) {
        options.descriptors.emplace_back(secrets.get(), filter::secrets_fd);
    }
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
    auto proxy = heard_of(said, std::move(sessions));
    if (!proxy || proxy->authority.empty() == opens_tls(spec)) {
        throw no_proxy(said.empty() ? "it ended without a word" : visible(said));
    }
    return std::move(*proxy);
}

void move_proxy(const SessionProxy& proxy, const std::vector<std::string>& sessions) noexcept
{
    // One that has ended may have left its number to somebody else, who would end with the session.
    if (!proxy.process.signal(0)) {
        return;
    }
    try {
        for (const auto& session : sessions) {
            const std::string own = session + "/proxy";
            if (::mkdir(own.c_str(), 0755) == 0) { // else the session has none in this hierarchy
                // It keeps to that by itself, unless it was taken over.
                cgroup::try_write(own + "/pids.max", std::to_string(filter::most_threads));
                cgroup::try_write(own + "/cgroup.procs", std::to_string(proxy.process.pid()));
            }
        }
    } catch (const std::exception&) {
        return; // no memory for a path: it stays where it is
    }
}

} // namespace berth::local

// The proxy of one session with a filtered network: outside of its sandbox, and the only way out of
// it. The server starts it (policy.hpp); it outlives the server and ends with the guest.

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/policy.hpp"
#include "sandbox/filter/proxy/confinement.hpp"
#include "sandbox/filter/proxy/interception.hpp"
#include "sandbox/filter/proxy/listener.hpp"
#include "sandbox/filter/proxy/secret_intake.hpp"
#include "sandbox/filter/proxy/send_allowance.hpp"
#include "sandbox/filter/rules.hpp"
#include "sandbox/filter/secret_book.hpp"
#include "sandbox/protocol/wire.hpp"

#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace berth; // NOLINT(google-build-using-namespace): a program of its own

filter::Policy read_policy()
{
    const UniqueFd file(filter::policy_fd);
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        throw_errno("read the rules");
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    bytes.resize(read_full(file.get(), bytes.data(), bytes.size()));
    return protocol::decode<filter::Policy>(bytes);
}

/// Its parent ends, and nobody has to wait for it: init takes it over.
void leave_parent()
{
    const pid_t child = ::fork();
    if (child < 0) {
        throw_errno("fork");
    }
    if (child > 0) {
        ::_exit(0);
    }
}

void tell_ready(const filter::Interception* interception)
{
    write_full(STDOUT_FILENO, filter::ready + std::to_string(::getpid()) + '\n' +
                                  (interception == nullptr ? "" : interception->authority()));
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null || ::dup2(null.get(), STDOUT_FILENO) < 0) {
        throw_errno("close the standard output");
    }
}

void run()
{
    const auto policy = read_policy();
    const filter::Rules rules(policy.allow, policy.deny, policy.inner);
    filter::SecretBook secrets(policy.secrets);
    // Before it is confined: SSL_CERT_FILE may be root's.
    const auto opened = secrets.tls_places();
    const auto interception =
        opened.empty() ? nullptr
                       : std::make_unique<filter::Interception>(opened, policy.certificates);
    filter::SendAllowance allowance(policy.max_sent);
    const UniqueFd intake(secrets.is_empty() ? -1 : filter::secrets_fd);
    if (::fcntl(filter::control_fd, F_SETFD, FD_CLOEXEC) != 0) {
        throw_errno("take the control socket");
    }
    (void)std::signal(SIGPIPE, SIG_IGN);
    // For hours it would keep the disk busy that the server was started on.
    (void)!::chdir("/");
    filter::confine_proxy(policy.user);
    leave_parent();
    tell_ready(interception.get());
    const auto sockets = filter::receive_sockets(filter::control_fd);
    if (!sockets.connections) {
        return;
    }
    if (intake) {
        std::thread([&] { filter::take_secrets(intake.get(), policy.server, secrets); }).detach();
    }
    filter::serve_session(filter::control_fd, sockets, rules, secrets, interception.get(),
                          policy.max_sent > 0 ? &allowance : nullptr);
}

} // namespace

int main(int argc, char** /*argv*/)
{
    if (argc != 1 || ::fcntl(filter::control_fd, F_GETFD) < 0) {
        constexpr std::string_view text = "berth-proxy: berth starts it; it is of no use by hand\n";
        (void)!::write(STDERR_FILENO, text.data(), text.size());
        return 1;
    }
    try {
        run();
        return 0; // no launch came of it
    } catch (const std::exception& error) {
        const std::string text = error.what();
        (void)!::write(STDOUT_FILENO, text.data(), text.size());
        ::_exit(1);
    }
}

#include "sandbox/local/launcher/request.hpp"

#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/poll_awake.hpp"
#include "sandbox/protocol/wire.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

/// What it was woken with; 0 at the end of the socket.
eventfd_t wait_for_request(MadeAhead& ahead)
{
    // Only the end of the socket is of interest here, and is told unasked.
    std::array<pollfd, 3> waiting{
        {{launcher_wake_fd, POLLIN, 0}, {launcher_control_fd, 0, 0}, {-1, POLLPRI, 0}}};
    while (waiting[0].revents == 0 && waiting[1].revents == 0) {
        waiting[2].fd = ahead.root ? ahead.root->mounts_fd() : -1;
        if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
            throw_errno("wait for a request");
        }
        if (waiting[2].revents != 0) {
            ahead.socket.reset();
            ahead.namespaces.reset(); // which hold the mounts of the root
            ahead.root.reset();
            waiting[2].revents = 0;
        }
    }
    eventfd_t count = 0;
    if (waiting.front().revents != 0) {
        (void)::eventfd_read(launcher_wake_fd, &count); // one machine is wanted, once
    }
    return count;
}

} // namespace

bool is_wanted_within(std::chrono::milliseconds time)
{
    std::array<pollfd, 2> waiting{{{launcher_wake_fd, POLLIN, 0}, {launcher_control_fd, 0, 0}}};
    return ::poll(waiting.data(), waiting.size(), static_cast<int>(time.count())) != 0;
}

std::string content_of(const UniqueFd& file)
{
    struct stat status{};
    if (::fstat(file.get(), &status) != 0 || ::lseek(file.get(), 0, SEEK_SET) != 0) {
        throw_errno("stat the spec");
    }
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    text.resize(read_full(file.get(), text.data(), text.size()));
    return text;
}

std::optional<Request> receive_request(MadeAhead& ahead)
{
    const eventfd_t woken = wait_for_request(ahead);
    if (ahead.root) {
        ahead.root->look();
    }
    // The server wakes this process before it knows all that it asks for.
    if (woken == wake_apart) {
        (void)poll_awake(launcher_control_fd);
    }
    auto message = receive_descriptors(launcher_control_fd, 1);
    if (message.descriptors.empty()) {
        return std::nullopt;
    }
    std::string text = content_of(message.descriptors.front());
    Request request{.spec = protocol::decode<LaunchSpec>(text),
                    .file = std::move(message.descriptors.front()),
                    .lock = {},
                    .proxy = {},
                    .lifetime = {}};
    // This memory may become the guest's, which keeps no second copy of its token.
    ::explicit_bzero(text.data(), text.size());
    std::size_t next = 1;
    for (auto* lent : {request.spec.has_lock ? &request.lock : nullptr,
                       request.spec.has_proxy ? &request.proxy : nullptr, &request.lifetime}) {
        if (lent != nullptr && next < message.descriptors.size()) {
            *lent = std::move(message.descriptors[next++]);
        }
    }
    return request;
}

} // namespace berth::local

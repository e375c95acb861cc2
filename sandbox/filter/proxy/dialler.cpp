#include "sandbox/filter/proxy/dialler.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/filter/proxy/resolver.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace berth::filter {
namespace {

using Failure = Dialled::Failure;

constexpr std::chrono::seconds patience_with_one{10};
constexpr std::chrono::seconds patience_with_all{60};
constexpr int no_answer = ETIMEDOUT;

Dialled failure(Failure kind, std::string reason)
{
    return {.socket = {}, .failure = kind, .reason = std::move(reason), .denial = std::nullopt};
}

Dialled denied(protocol::Denial denial)
{
    return {.socket = {}, .failure = Failure::denied, .reason = {}, .denial = std::move(denial)};
}

/// 0, or what went wrong.
int finish_connecting(int socket, const Deadline& deadline)
{
    pollfd waiting{socket, POLLOUT, 0};
    for (;;) {
        const int count = ::poll(&waiting, 1, deadline.poll_timeout());
        if (count > 0) {
            break;
        }
        if (count == 0) {
            return no_answer;
        }
        if (errno != EINTR) {
            return errno;
        }
    }
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

int connect_to(const addrinfo& place, const Deadline& all, UniqueFd& connected)
{
    UniqueFd socket(::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
        return errno;
    }
    const int on = 1; // what is sent is as it came: to hold it back for more helps nobody
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket.get(), place.ai_addr, place.ai_addrlen) != 0 && errno != EINPROGRESS) {
        return errno;
    }
    const int error =
        finish_connecting(socket.get(), Deadline::earlier(all, Deadline::after(patience_with_one)));
    if (error == 0) {
        connected = std::move(socket);
    }
    return error;
}

} // namespace

Dialled dial(const Rules& rules, const Target& target)
{
    if (auto denial = rules.judge(target)) {
        return denied(std::move(*denial));
    }
    const auto resolved = resolve(target, rules.names(target));
    const addrinfo* const addresses = resolved.addresses.get();
    if (addresses == nullptr) {
        return failure(Failure::unknown_name,
                       "the name " + target.name + " was not found: " + resolved.reason);
    }
    for (const auto& name : resolved.full_names) {
        if (auto denial = rules.judge_full_name(target, name)) {
            return denied(std::move(*denial));
        }
    }
    for (const addrinfo* each = addresses; each != nullptr; each = each->ai_next) {
        const auto address = Address::of(each->ai_addr);
        if (!address) {
            return failure(Failure::unreachable, target.name + " has an address of no known kind");
        }
        if (auto denial = rules.judge_resolved(target, *address)) {
            return denied(std::move(*denial));
        }
    }
    const auto deadline = Deadline::after(patience_with_all);
    int error = no_answer;
    for (const addrinfo* each = addresses; each != nullptr && !deadline.expired();
         each = each->ai_next) {
        Dialled dialled;
        error = connect_to(*each, deadline, dialled.socket);
        if (error == 0) {
            return dialled;
        }
    }
    return failure(error == ECONNREFUSED ? Failure::refused : Failure::unreachable,
                   "cannot connect to " + target.to_text() + ": " +
                       std::generic_category().message(error));
}

} // namespace berth::filter

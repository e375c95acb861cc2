#include "sandbox/filter/proxy/dialler.hpp"

#include "sandbox/base/deadline.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
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

struct Free {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

using Addresses = std::unique_ptr<addrinfo, Free>;

Dialled failure(Failure kind, std::string reason)
{
    return {.socket = {}, .failure = kind, .reason = std::move(reason), .denial = std::nullopt};
}

Dialled denied(protocol::Denial denial)
{
    return {.socket = {}, .failure = Failure::denied, .reason = {}, .denial = std::move(denial)};
}

/// Of an address without a look into the DNS. The reason where there is none is in `error`.
Addresses resolve(const Target& target, std::string& error)
{
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (target.address ? AI_NUMERICHOST : 0);
    addrinfo* found = nullptr;
    const int code =
        ::getaddrinfo(target.name.c_str(), std::to_string(target.port).c_str(), &hints, &found);
    if (code != 0) {
        error = code == EAI_SYSTEM ? std::generic_category().message(errno) : ::gai_strerror(code);
        return nullptr;
    }
    return Addresses(found);
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
    std::string reason;
    const auto addresses = resolve(target, reason);
    if (!addresses) {
        return failure(Failure::unknown_name,
                       "the name " + target.name + " was not found: " + reason);
    }
    for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
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
    for (const addrinfo* each = addresses.get(); each != nullptr && !deadline.expired();
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

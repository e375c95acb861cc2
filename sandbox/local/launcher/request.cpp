#include "sandbox/local/launcher/request.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/protocol/wire.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>

namespace berth::local {
namespace {

/// The spec's descriptor and, if there is one, the lifetime pipe's; none at the end of the socket.
std::array<UniqueFd, 2> receive_descriptors(int control)
{
    char byte = 0;
    iovec data{&byte, 1};
    std::array<int, 2> numbers{-1, -1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof numbers)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    ssize_t size = -1;
    do {
        size = ::recvmsg(control, &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        throw_errno("receive the spec");
    }
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
        std::memcpy(numbers.data(), CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    }
    return {UniqueFd(numbers[0]), UniqueFd(numbers[1])};
}

} // namespace

std::optional<Request> receive_request(int control)
{
    auto [file, lifetime] = receive_descriptors(control);
    if (!file) {
        return std::nullopt;
    }
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        throw_errno("stat the spec");
    }
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    text.resize(read_full(file.get(), text.data(), text.size()));
    return Request{protocol::decode<LaunchSpec>(text), std::move(lifetime)};
}

} // namespace berth::local

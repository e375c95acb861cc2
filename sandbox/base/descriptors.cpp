#include "sandbox/base/descriptors.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth {
namespace {

constexpr std::size_t control_size = CMSG_SPACE(max_descriptors * sizeof(int));

struct alignas(cmsghdr) Control {
    std::array<char, control_size> bytes{};
};

std::vector<UniqueFd> descriptors_in(msghdr& message)
{
    std::vector<UniqueFd> all;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        std::vector<int> numbers((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        std::memcpy(numbers.data(), CMSG_DATA(header), numbers.size() * sizeof(int));
        for (const int number : numbers) {
            all.emplace_back(number);
        }
    }
    return all;
}

} // namespace

UniqueFd make_memory_file(const char* name, std::string_view content)
{
    UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
    if (!file) {
        throw_errno("memfd_create");
    }
    write_full(file.get(), content);
    if (::lseek(file.get(), 0, SEEK_SET) != 0) {
        throw_errno(std::string("rewind ") + name);
    }
    return file;
}

std::pair<UniqueFd, UniqueFd> make_socket_pair()
{
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        throw_errno("socketpair");
    }
    return {UniqueFd(pair[0]), UniqueFd(pair[1])};
}

bool send_descriptors(int socket, std::string_view bytes, const std::vector<int>& descriptors)
{
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): sendmsg only reads it
    iovec data{const_cast<char*>(bytes.data()), bytes.size()};
    Control control;
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    const std::size_t size = descriptors.size() * sizeof(int);
    if (descriptors.size() > max_descriptors) {
        return false;
    }
    if (size > 0) {
        message.msg_control = control.bytes.data();
        message.msg_controllen = CMSG_SPACE(size);
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        std::memcpy(CMSG_DATA(header), descriptors.data(), size);
    }
    ssize_t sent = -1;
    do {
        sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes.size());
}

DescriptorMessage receive_descriptors(int socket, std::size_t size)
{
    DescriptorMessage received;
    received.bytes.resize(size);
    iovec data{received.bytes.data(), size};
    Control control;
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    ssize_t count = -1;
    do {
        count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        throw_errno("receive descriptors");
    }
    received.bytes.resize(static_cast<std::size_t>(count));
    received.descriptors = descriptors_in(message);
    if ((static_cast<unsigned>(message.msg_flags) & MSG_CTRUNC) != 0) {
        // At the limit of open files the kernel drops what does not fit, and says only this.
        throw std::system_error(EMFILE, std::generic_category(), "receive descriptors");
    }
    return received;
}

} // namespace berth

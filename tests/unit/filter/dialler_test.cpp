#include "sandbox/base/io.hpp"
#include "sandbox/base/process.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/filter/proxy/dialler.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <net/if.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using berth::UniqueFd;
using berth::filter::Dialled;
using berth::filter::Rules;
using berth::filter::target_of;

namespace {

using Names = std::vector<std::string>;

/// Of this process, on port 53 of its loopback.
UniqueFd bound_for_names()
{
    UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    request.ifr_name[0] = 'l';
    request.ifr_name[1] = 'o';
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(53);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound =
        ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0 &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    return bound ? std::move(socket) : UniqueFd();
}

/// The answer of a server that knows these names, all of them at 127.0.0.1.
std::string answer_to(std::string_view question, const Names& known)
{
    std::string name;
    std::size_t at = 12;
    while (question[at] != '\0') {
        const auto size = static_cast<std::size_t>(question[at]);
        name += (name.empty() ? "" : ".") + std::string(question.substr(at + 1, size));
        at += size + 1;
    }
    const bool knows = std::ranges::find(known, name) != known.end();
    const bool tells = knows && question[at + 2] == 1; // its address of IPv4
    std::string answer(question.substr(0, at + 5));
    answer[2] = static_cast<char>(0x81);
    answer[3] = static_cast<char>(knows ? 0x80 : 0x83); // no such name
    answer[7] = tells ? 1 : 0;
    std::fill(answer.begin() + 8, answer.begin() + 12, '\0');
    if (tells) {
        answer += std::string("\xC0\x0C\0\x01\0\x01\0\0\0\x3C\0\x04\x7F\0\0\x01", 16);
    }
    return answer;
}

void serve_names(const UniqueFd& socket, const Names& known)
{
    if (::fork() != 0) {
        return;
    }
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        std::array<char, 512> packet{};
        sockaddr_in from{};
        socklen_t size = sizeof from;
        auto* const address = reinterpret_cast<sockaddr*>(&from);
        const ssize_t length =
            ::recvfrom(socket.get(), packet.data(), packet.size(), 0, address, &size);
        if (length > 16) {
            const auto answer = answer_to({packet.data(), static_cast<std::size_t>(length)}, known);
            (void)::sendto(socket.get(), answer.data(), answer.size(), 0, address, size);
        }
    }
}

/// A host of its own, with this in its resolv.conf and hosts. False where this user makes none.
bool become_host(const berth::tests::TemporaryDirectory& files)
{
    const int spaces = CLONE_NEWNS | CLONE_NEWNET | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(spaces) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return false;
    }
    const std::array<std::pair<const char*, const char*>, 3> texts{
        {{"resolv.conf", "nameserver 127.0.0.1\nsearch corp.example\noptions ndots:5\n"},
         {"hosts", "127.0.0.1 printer.corp.example printer\n"},
         {"nsswitch.conf", "hosts: files dns\n"}}};
    return std::ranges::all_of(texts, [&](const auto& text) {
        const auto path = files.path() + '/' + text.first;
        std::ofstream(path) << text.second;
        return ::mount(path.c_str(), (std::string("/etc/") + text.first).c_str(), nullptr, MS_BIND,
                       nullptr) == 0;
    });
}

/// What comes of it where nothing listens.
std::string outcome(const Names& allow, const Names& deny, const std::string& name)
{
    const Rules rules(allow, deny, {"127.0.0.0/8"});
    const auto dialled = berth::filter::dial(rules, target_of(name, 8080).value());
    if (dialled.denial) {
        return dialled.denial->reason;
    }
    return dialled.failure == Dialled::Failure::unknown_name ? "not found"
           : dialled.failure == Dialled::Failure::refused    ? "reached"
                                                             : "else: " + dialled.reason;
}

/// On a host whose search list ends names with corp.example.
std::string outcomes()
{
    const Names denied{"*.corp.example"};
    std::string all;
    for (const auto& each :
         {outcome({"*:8080"}, denied, "git"), outcome({"*:8080"}, {}, "git"),
          outcome({"git:8080"}, {}, "git"), outcome({"git:8080"}, denied, "git"),
          outcome({"api.example:8080"}, {}, "api.example"),
          outcome({"git.corp.example:8080"}, {}, "git.corp.example"),
          outcome({"*:8080"}, {}, "printer"), outcome({"*:8080"}, denied, "printer")}) {
        all += each + '\n';
    }
    return all;
}

} // namespace

TEST_CASE("a name is the one that was asked for, whatever the host searches")
{
    const berth::tests::TemporaryDirectory files;
    const berth::Pipe pipe = berth::make_pipe();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::string said = "no host\n";
        if (become_host(files)) {
            const auto socket = bound_for_names();
            serve_names(socket, {"git.corp.example", "api.example.corp.example"});
            said = socket ? outcomes() : "no server of names\n";
        }
        berth::write_full(pipe.write.get(), said);
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(pipe.read.get(), buffer.data(), buffer.size());
    REQUIRE(size > 0);
    const std::string said(buffer.data(), static_cast<std::size_t>(size));
    if (said == "no host\n" && ::geteuid() != 0) {
        return; // an ordinary user of a host that lets him make no namespaces
    }
    const std::string stands = "which a rule of this sandbox denies\n";
    CHECK(said == "not found\nnot found\nreached\nit stands for git.corp.example, " + stands +
                      "not found\nreached\nreached\nit stands for printer.corp.example, " + stands);
}

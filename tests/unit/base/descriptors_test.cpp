#include "sandbox/base/descriptors.hpp"
#include "sandbox/base/io.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;

namespace {

std::array<UniqueFd, 2> socket_pair()
{
    int pair[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    return {UniqueFd(pair[0]), UniqueFd(pair[1])};
}

} // namespace

TEST_CASE("a memory file is read from its beginning")
{
    const UniqueFd file = make_memory_file("berth-test", std::string("a\0b", 3));
    std::array<char, 8> buffer{};
    CHECK(read_full(file.get(), buffer.data(), buffer.size()) == 3);
    CHECK(std::string(buffer.data(), 3) == std::string("a\0b", 3));
}

TEST_CASE("descriptors arrive in their order, close-on-exec, with their message and no other")
{
    const auto [here, there] = socket_pair();
    std::vector<UniqueFd> files;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < max_descriptors; ++i) {
        files.push_back(make_memory_file("berth-test", std::to_string(i)));
        numbers.push_back(files.back().get());
    }
    REQUIRE(send_descriptors(here.get(), "many", numbers));
    REQUIRE(send_descriptors(here.get(), "x", {}));
    const auto many = receive_descriptors(there.get(), 100);
    CHECK(many.bytes == "many");
    REQUIRE(many.descriptors.size() == max_descriptors);
    for (std::size_t i = 0; i < max_descriptors; ++i) {
        struct stat sent{};
        struct stat received{};
        ::fstat(numbers[i], &sent);
        ::fstat(many.descriptors[i].get(), &received);
        CHECK(sent.st_ino == received.st_ino);
        CHECK(::fcntl(many.descriptors[i].get(), F_GETFD) == FD_CLOEXEC);
    }
    const auto none = receive_descriptors(there.get(), 100);
    CHECK(none.bytes == "x");
    CHECK(none.descriptors.empty());
    numbers.push_back(numbers.front());
    CHECK_FALSE(send_descriptors(here.get(), "too many", numbers));
}

TEST_CASE("the end of the other side is told, to the sender too")
{
    auto [here, there] = socket_pair();
    here.reset();
    CHECK(receive_descriptors(there.get(), 1).bytes.empty());
    CHECK_FALSE(send_descriptors(there.get(), "x", {0}));
}

TEST_CASE("descriptors for which there is no room are an error, not fewer descriptors")
{
    const auto [here, there] = socket_pair();
    REQUIRE(send_descriptors(here.get(), "x", {0, 1, 2}));
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const UniqueFd next(::dup(0));
    const rlimit full{static_cast<rlim_t>(next.get()) + 1, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &full) == 0);
    CHECK_THROWS_AS((void)receive_descriptors(there.get(), 1), std::system_error);
    ::setrlimit(RLIMIT_NOFILE, &before);
}

#include "sandbox/local/stale_sockets.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>

using namespace berth;
using namespace berth::local;
using berth::local::test::TemporaryTree;

TEST_CASE("no socket is made while somebody removes stale ones")
{
    const TemporaryTree host;
    const auto path = host.path() + "/one-proxy.sock";
    const UniqueFd removing(::open(host.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(removing.get(), LOCK_EX) == 0);
    UniqueFd socket;
    std::thread making([&] { socket = listen_beside_stale(path); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK_FALSE(std::filesystem::exists(path));
    ::flock(removing.get(), LOCK_UN);
    making.join();
    CHECK_FALSE(nobody_listens(path));
    remove_stale_sockets(host.path(), {}, Deadline::after(std::chrono::seconds(10)));
    CHECK(std::filesystem::exists(path));
}

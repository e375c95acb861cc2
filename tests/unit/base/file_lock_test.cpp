#include "sandbox/base/file_lock.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>

using namespace berth;

namespace {

UniqueFd open_at(const tests::TemporaryDirectory& directory)
{
    return UniqueFd(::open((directory / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

} // namespace

TEST_CASE("a lock is waited for until the deadline, and had as soon as it is free")
{
    const tests::TemporaryDirectory directory;
    UniqueFd holder = open_at(directory);
    const UniqueFd waiter = open_at(directory);
    REQUIRE(flock_until(holder.get(), LOCK_EX, Deadline()));
    CHECK_FALSE(flock_until(waiter.get(), LOCK_SH, Deadline::after(std::chrono::milliseconds(20))));
    const std::jthread freeing([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        holder.reset();
    });
    CHECK(flock_until(waiter.get(), LOCK_EX, Deadline::after(std::chrono::seconds(30))));
}

TEST_CASE("what cannot be locked is not waited for")
{
    CHECK_THROWS_AS((void)flock_until(-1, LOCK_EX, Deadline()), std::system_error);
}

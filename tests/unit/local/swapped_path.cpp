#include "tests/unit/local/swapped_path.hpp"

#include <utility>

#include <fcntl.h>
#include <stdio.h> // NOLINT(modernize-deprecated-headers): renameat2
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local::test {

SwappedPath::SwappedPath(std::string path, With with, std::string leads_to)
    : path_(std::move(path)), with_(with), leads_to_(std::move(leads_to)), other_(path_ + ".other")
{
    make_other();
    thread_ = std::thread([this] { run(); });
}

SwappedPath::~SwappedPath()
{
    ending_ = true;
    thread_.join();
    ::unlink(other_.c_str());
}

void SwappedPath::make_other() const
{
    if (with_ == With::link) {
        (void)!::symlink(leads_to_.c_str(), other_.c_str());
    } else {
        ::mkfifo(other_.c_str(), 0666);
    }
}

void SwappedPath::run()
{
    const auto swap = [this] {
        return ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, other_.c_str(), RENAME_EXCHANGE) == 0;
    };
    const auto wait = [](unsigned turns) {
        for (unsigned i = 0; i < turns; ++i) {
            std::atomic_signal_fence(std::memory_order_seq_cst); // else it would be left out
        }
    };
    unsigned round = 0;
    while (!ending_) {
        if (!swap()) {
            make_other(); // whoever found the other one at the path has removed it
            std::this_thread::yield();
            continue;
        }
        // For a microsecond to a millisecond: some need it to be there for two looks in a row, some
        // for one look and not for the next.
        wait(1U << (2 * (round % 9)));
        ++round;
        // And back; where what lies there now was removed, what was there before comes back.
        if (!swap()) {
            ::renameat2(AT_FDCWD, other_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
        }
        wait(2U << (2 * (round % 8)));
    }
}

} // namespace berth::local::test

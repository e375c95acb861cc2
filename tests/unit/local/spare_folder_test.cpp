#include "sandbox/local/session_folder.hpp"
#include "sandbox/local/session_parts.hpp"
#include "sandbox/local/spare_folder.hpp"
#include "sandbox/local/spare_folders.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

namespace fs = std::filesystem;

UniqueFd open_folder(const std::string& path)
{
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

ino_t number_of(const std::string& path)
{
    struct stat status{};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_ino;
}

std::size_t spares(const TemporaryTree& state)
{
    const fs::path all = state.path() + "/ahead";
    return fs::exists(all) ? static_cast<std::size_t>(std::distance(fs::directory_iterator(all),
                                                                    fs::directory_iterator()))
                           : 0;
}

} // namespace

TEST_CASE("a session's folder is made of a spare one, and the rest of that is removed")
{
    const TemporaryTree state;
    const auto fd = open_folder(state.path());
    auto spare = std::make_unique<SpareFolder>(fd.get());
    const auto waiting = fs::directory_iterator(state.path() + "/ahead")->path().string();
    const auto home = number_of(waiting + "/home");
    const auto id = number_of(waiting + "/machine-id");
    const SessionFolder folder(state.path(), "key", spare.get());
    folder.set_generation("of this machine", spare.get());
    folder.set_socket("/run/somewhere", spare.get());
    const auto note = folder.make_parting_note(spare.get());
    folder.prepare(::geteuid(), ::getegid(), spare.get());
    CHECK(number_of(folder.path() + "/home") == home);
    CHECK(number_of(folder.path() + "/machine-id") == id);
    CHECK(fs::is_directory(folder.path() + "/var-tmp/berth"));
    struct stat status{};
    REQUIRE(::stat((folder.path() + "/tmp").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 01777U);
    CHECK(folder.generation() == "of this machine");
    CHECK(SessionFolder::socket(state.path(), "key", "") == "/run/somewhere");
    CHECK(SessionFolder::is_lived_in(state.path(), "key", "of this machine",
                                     Deadline::after(std::chrono::seconds(0))));
    spare.reset();
    CHECK(spares(state) == 0);
}

TEST_CASE("what is there already stays, and what a spare folder has not is made")
{
    const TemporaryTree state;
    const auto fd = open_folder(state.path());
    SpareFolder spare(fd.get());
    {
        const SessionFolder folder(state.path(), "key");
        folder.prepare(::geteuid(), ::getegid());
    }
    state.add("sessions/key/home/kept", "x");
    const auto home = number_of(state.path() + "/sessions/key/home");
    const SessionFolder folder(state.path(), "key", &spare);
    fs::remove_all(fs::directory_iterator(state.path() + "/ahead")->path() / "run");
    for (int i = 0; i < 10; ++i) { // more than there are blank files
        folder.set_generation(std::to_string(i), &spare);
        CHECK(folder.generation() == std::to_string(i));
    }
    folder.prepare(::geteuid(), ::getegid(), &spare);
    CHECK(number_of(folder.path() + "/home") == home);
    CHECK(fs::exists(folder.path() + "/home/kept"));
    CHECK(fs::is_directory(folder.path() + "/run"));
    CHECK(fs::exists(folder.path() + "/machine-id"));
}

TEST_CASE("spare folders of servers that were killed are cleared up, those of living ones are not")
{
    const TemporaryTree state;
    state.add("ahead/0123456789abcdef/home/file", "x");
    const auto fd = open_folder(state.path());
    SpareFolder::clear_up(fd.get());
    CHECK(spares(state) == 0);
    SpareFolder spare(fd.get());
    SpareFolder::clear_up(fd.get());
    CHECK(spares(state) == 1);
    const SessionFolder folder(state.path(), "key", &spare);
    folder.prepare(::geteuid(), ::getegid(), &spare);
    CHECK(fs::is_directory(folder.path() + "/home"));
}

TEST_CASE("of a server that leaves no spare folder stays, nor one in use or being made")
{
    const TemporaryTree state;
    const auto fd = open_folder(state.path());
    SpareFolders folders;
    folders.renew(fd.get());
    auto used = folders.take();
    REQUIRE(used);
    auto in_use = std::make_unique<SpareFolder>(fd.get());
    folders.give_back(std::move(used));
    folders.renew(fd.get());
    CHECK(spares(state) == 2);
    {
        const std::jthread making([&] {
            for (int i = 0; i < 100; ++i) {
                (void)folders.take();
                folders.renew(fd.get());
            }
        });
        folders.close();
    }
    CHECK(spares(state) == 1);
    CHECK_FALSE(folders.take());
    folders.give_back(std::move(in_use));
    CHECK(spares(state) == 0);
}

#include "sandbox/protocol/parting_note.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

using namespace berth;
using namespace std::chrono_literals;
using protocol::Parting;

namespace {

bool held(const std::string& path, std::chrono::milliseconds patience = 0ms)
{
    return protocol::is_parting_note_held(AT_FDCWD, path, Deadline::after(patience));
}

} // namespace

TEST_SUITE("protocol/parting_note")
{
    TEST_CASE("a note is held until the last copy of its descriptor is closed")
    {
        const tests::TemporaryDirectory folder;
        const auto path = folder / "note";
        CHECK_FALSE(held(path)); // there is none
        CHECK_FALSE(protocol::is_parting_note_free(AT_FDCWD, path));
        UniqueFd makers = protocol::make_parting_note(AT_FDCWD, path);
        UniqueFd guests(::dup(makers.get()));
        makers.reset();
        CHECK(held(path));
        CHECK(held(path)); // a look leaves nothing behind
        CHECK_FALSE(protocol::is_parting_note_free(AT_FDCWD, path));
        CHECK(protocol::read_parting_note(AT_FDCWD, path) == Parting::none);
        guests.reset();
        CHECK_FALSE(held(path));
        CHECK(protocol::is_parting_note_free(AT_FDCWD, path));
        CHECK(protocol::read_parting_note(AT_FDCWD, path) == Parting::none);
    }

    TEST_CASE("one whose guest is just ending is waited for")
    {
        const tests::TemporaryDirectory folder;
        const auto path = folder / "note";
        UniqueFd guests = protocol::make_parting_note(AT_FDCWD, path);
        CHECK(held(path, 30ms));
        std::jthread end([fd = std::move(guests)]() mutable {
            std::this_thread::sleep_for(50ms);
            fd.reset();
        });
        CHECK_FALSE(held(path, 10s));
    }

    TEST_CASE("a note of an earlier release, which locked nothing, is held by nobody")
    {
        const tests::TemporaryDirectory folder;
        const auto path = folder / "note";
        const UniqueFd guests(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        CHECK_FALSE(held(path));
    }

    TEST_CASE("a note that is made anew is held by its own guest alone")
    {
        const tests::TemporaryDirectory folder;
        const auto path = folder / "note";
        const UniqueFd earlier = protocol::make_parting_note(AT_FDCWD, path);
        UniqueFd later = protocol::make_parting_note(AT_FDCWD, path);
        CHECK(held(path));
        later.reset();
        CHECK_FALSE(held(path));
    }

    TEST_CASE("who ends a guest from outside says so in its note, and makes none")
    {
        const tests::TemporaryDirectory folder;
        const auto path = folder / "note";
        protocol::change_parting_note(AT_FDCWD, path, Parting::asked);
        CHECK_FALSE(protocol::read_parting_note(AT_FDCWD, path).has_value());
        const auto guests = protocol::make_parting_note(AT_FDCWD, path);
        protocol::change_parting_note(AT_FDCWD, path, Parting::asked);
        CHECK(protocol::read_parting_note(AT_FDCWD, path) == Parting::asked);
        CHECK(held(path)); // it lives yet
        CHECK(protocol::read_last_words(AT_FDCWD, path).empty());
    }

    TEST_CASE("what follows the byte is read of a guest that ended itself, and as far as it may go")
    {
        const tests::TemporaryDirectory folder;
        const auto path = folder / "note";
        const auto note = protocol::make_parting_note(AT_FDCWD, path);
        CHECK(protocol::read_last_words(AT_FDCWD, path).empty());
        REQUIRE(::pwrite(note.get(), "words", 5, 1) == 5);
        CHECK(protocol::read_last_words(AT_FDCWD, path).empty()); // it may be writing them
        CHECK(protocol::read_parting_note(AT_FDCWD, path) == Parting::none);
        REQUIRE(::pwrite(note.get(), "l", 1, 0) == 1);
        CHECK(protocol::read_last_words(AT_FDCWD, path) == "words");
        CHECK(protocol::read_parting_note(AT_FDCWD, path) == Parting::left);
        REQUIRE(::ftruncate(note.get(), 2 + protocol::longest_last_words) == 0);
        CHECK(protocol::read_last_words(AT_FDCWD, path).empty());
        CHECK(protocol::read_parting_note(AT_FDCWD, path) == Parting::left);
    }
}

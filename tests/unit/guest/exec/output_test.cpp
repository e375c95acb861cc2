#include "sandbox/base/io.hpp"
#include "sandbox/guest/exec/output.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest::test {
namespace {

using protocol::Fate;
using std::chrono::milliseconds;

std::string content(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
}

using tests::TemporaryDirectory;

long resident_kilobytes()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

} // namespace

TEST_CASE("head, tail and what is between, for every size and way of cutting")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 0, 0);
    std::string text;
    for (int i = 0; text.size() < 64; ++i) {
        text += std::to_string(i) + (i % 3 == 0 ? "\n" : "");
    }
    for (std::size_t size = 0; size <= text.size(); ++size) {
        for (const std::size_t piece : {1UL, 2UL, 3UL, 7UL, 10UL, 16UL, 64UL}) {
            OutputStream stream(UniqueFd(), 10, 7, store, "stdout");
            const std::string whole = text.substr(0, size);
            for (std::size_t at = 0; at < size; at += piece) {
                stream.add(whole.substr(at, piece));
            }
            const auto out = stream.result();
            CAPTURE(size);
            CAPTURE(piece);
            REQUIRE(out.total_bytes == size);
            REQUIRE(out.head == whole.substr(0, 10));
            const std::size_t omitted = size > 17 ? size - 17 : 0;
            REQUIRE(out.omitted_bytes == omitted);
            REQUIRE(out.tail == whole.substr(std::min<std::size_t>(10, size) + omitted));
            const auto lines = [](const std::string& part) {
                return static_cast<std::uint64_t>(std::count(part.begin(), part.end(), '\n'));
            };
            REQUIRE(out.omitted_lines == (omitted ? lines(whole.substr(10, omitted)) : 0));
            REQUIRE(out.total_lines == lines(whole) + (size > 0 && whole.back() != '\n' ? 1 : 0));
            REQUIRE(out.spill_path.empty() == (size <= 17));
            if (size > 17) {
                REQUIRE(content(out.spill_path) == whole);
                REQUIRE(out.spill_bytes == size);
                REQUIRE(out.spill_error.empty());
            }
        }
    }
}

TEST_CASE("what is folded is in the file as it came, wherever the pieces begin")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 0, 0);
    const std::string text = "one\r\n10%\r20%\r\r30%\ntwo\r";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        OutputStream stream(UniqueFd(), 100, 100, store, "stdout");
        for (std::size_t at = 0; at < text.size(); at += piece) {
            stream.add(text.substr(at, piece));
        }
        const auto out = stream.result();
        CAPTURE(piece);
        REQUIRE(out.head == "one\r\n30%\ntwo\r");
        REQUIRE(out.folded_updates == 2);
        REQUIRE(out.total_bytes == text.size());
        REQUIRE(out.total_lines == 3);
        REQUIRE(out.head.size() + out.folded_bytes == text.size());
        REQUIRE(content(out.spill_path) == text);
    }
    OutputStream plain(UniqueFd(), 100, 100, store, "stdout");
    plain.add("one\r\ntwo\r");
    CHECK(plain.result().spill_path.empty());
}

TEST_CASE("so is what is folded at escape sequences, and a job's line is known to be rewritten")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 0, 0);
    const std::string bar = "one\n1\x1b[2K\x1b[1G2\x1b[G3";
    for (std::size_t piece = 1; piece <= bar.size(); ++piece) {
        OutputStream stream(UniqueFd(), 100, 100, store, "stdout");
        for (std::size_t at = 0; at < bar.size(); at += piece) {
            stream.add(bar.substr(at, piece));
        }
        const auto out = stream.result();
        CAPTURE(piece);
        REQUIRE(out.head == "one\n3");
        REQUIRE(out.folded_updates == 2);
        REQUIRE(content(out.spill_path) == bar);
        REQUIRE(stream.is_rewritten());
        stream.add("\n\x1b[31mnext");
        REQUIRE_FALSE(stream.is_rewritten());
    }
    OutputStream plain(UniqueFd(), 100, 100, store, "stdout");
    plain.add("\x1b[31mone\x1b[K\x1b[0m\n");
    CHECK(plain.result().spill_path.empty());
}

TEST_CASE("ten megabytes of a bar between lines, in bounded memory")
{
    for (const Mode mode : modes()) {
        CAPTURE(name_of(mode));
        Guest guest(mode);
        const long before = resident_kilobytes();
        const auto out = guest
                             .run("seq 5; yes \"$(printf '50%% [%060d]\\r' 0)\" | tr -d '\\n' | "
                                  "head -c 10000000; printf '\\r100%%\\n'; seq 6 10")
                             .reply.out;
        CHECK(out.head + out.tail == "1\n2\n3\n4\n5\n100%\n6\n7\n8\n9\n10\n");
        CHECK(out.omitted_bytes == 0);
        CHECK(out.folded_updates >= 10'000'000 / 67);
        CHECK(out.head.size() + out.folded_bytes == out.total_bytes);
        CHECK(out.total_lines == 11);
        CHECK(std::filesystem::file_size(out.spill_path) == out.total_bytes);
        CHECK(resident_kilobytes() - before < 4096);
    }
}

TEST_CASE("limits of nothing: everything is counted and spilled")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 0, 0);
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.add("abc\n");
    const auto out = stream.result();
    CHECK(out.head.empty());
    CHECK(out.omitted_bytes == 4);
    CHECK(out.omitted_lines == 1);
    CHECK(content(out.spill_path) == "abc\n");
}

TEST_CASE("spill: a stream's limit")
{
    const TemporaryDirectory directory;
    SpillStore store(directory.path(), 10, 0);
    const auto file = store.create("stdout");
    file->write("123456");
    CHECK(file->error().empty());
    file->write("7890ab");
    CHECK(file->bytes() == 10);
    CHECK(file->error().find("limit of a stream") != std::string::npos);
    file->write("more");
    CHECK(content(file->path()) == "1234567890");
}

TEST_CASE("spill: the session's limit takes the oldest closed files, never an open one")
{
    const TemporaryDirectory directory;
    SpillStore store(directory.path(), 0, 100);
    const auto running = store.create("stdout");
    running->write(std::string(40, 'r'));
    auto old = store.create("stdout");
    old->write(std::string(40, 'o'));
    const std::string old_path = old->path();
    old.reset();
    auto fresh = store.create("stderr");
    fresh->write(std::string(50, 'f'));
    CHECK(fresh->error().empty());
    CHECK(!std::filesystem::exists(old_path));
    CHECK(std::filesystem::exists(running->path()));
    fresh->write(std::string(20, 'f'));
    CHECK(fresh->bytes() == 60);
    CHECK(fresh->error().find("limit of the session") != std::string::npos);
}

TEST_CASE("spill: where there was room for nothing no file is named")
{
    const TemporaryDirectory directory;
    SpillStore store(directory.path(), 0, 10);
    const auto running = store.create("stdout");
    running->write(std::string(10, 'r')); // what is open is not taken away
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.add("abcdef");
    const auto out = stream.result();
    CHECK(out.spill_path.empty());
    CHECK(out.spill_bytes == 0);
    CHECK(out.spill_error == "limit of the session");
}

TEST_CASE("spill: a file that a command took away is not called whole")
{
    const TemporaryDirectory directory;
    SpillStore store(directory.path(), 0, 0);
    enum class How { removed, replaced, cut, cut_and_grown, kept };
    for (const How how : {How::removed, How::replaced, How::cut, How::cut_and_grown, How::kept}) {
        CAPTURE(static_cast<int>(how));
        OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
        stream.add("abcdef");
        const std::string path = stream.result().spill_path;
        if (how == How::removed || how == How::replaced) {
            std::filesystem::remove(path);
        }
        if (how == How::replaced) {
            std::ofstream(path) << "abcdef";
        }
        if (how == How::cut || how == How::cut_and_grown) {
            std::filesystem::resize_file(path, 2);
        }
        if (how == How::cut_and_grown) {
            stream.add("ghi");
        }
        const auto out = stream.result();
        stream.close();
        const auto closed = stream.result();
        CHECK(closed.spill_path == out.spill_path);
        CHECK(closed.spill_error == out.spill_error);
        const bool there = how == How::cut || how == How::cut_and_grown || how == How::kept;
        CHECK(out.spill_path == (there ? path : ""));
        CHECK(out.spill_error.empty() == (how == How::kept));
        CHECK(out.spill_bytes == (how == How::kept            ? 6
                                  : how == How::cut           ? 2
                                  : how == How::cut_and_grown ? 5
                                                              : 0));
    }
}

TEST_CASE("spill: traps in its directory")
{
    const TemporaryDirectory directory;
    const std::string place = directory / "place";
    const std::string other = directory / "other";
    std::filesystem::create_directory(other);
    std::filesystem::create_directory(place);
    SpillStore store(place, 0, 0);
    // Names that are taken by a FIFO, a link and a directory are passed over without blocking.
    REQUIRE(::mkfifo((place + "/1.stdout").c_str(), 0600) == 0);
    std::filesystem::create_symlink(other + "/stolen", place + "/2.stdout");
    std::filesystem::create_directory(place + "/3.stdout");
    auto file = store.create("stdout");
    file->write("x");
    CHECK(file->error().empty());
    CHECK(file->path() == place + "/4.stdout");
    CHECK(!std::filesystem::exists(other + "/stolen"));
    // The directory itself replaced by a link, by a file, by nothing.
    std::filesystem::remove_all(place);
    std::filesystem::create_symlink(other, place);
    file = store.create("stdout");
    file->write("x");
    CHECK(!file->error().empty());
    CHECK(file->path().empty());
    CHECK(std::filesystem::is_empty(other));
    std::filesystem::remove(place);
    std::ofstream(place) << "file";
    CHECK(!store.create("stdout")->error().empty());
    std::filesystem::remove(place);
    CHECK(store.create("stdout")->error().empty());
}

TEST_CASE("yes: totals right, memory bounded, file capped, others answered meanwhile")
{
    for (const Mode mode : modes()) {
        CAPTURE(name_of(mode));
        Guest guest(mode,
                    [](protocol::GuestConfig& config) { config.spill_stream_limit = 1'000'000; });
        const long before = resident_kilobytes();
        const auto noisy = guest.start(Guest::request("yes", 4000));
        guest.spin(milliseconds(50));
        for (int i = 0; i < 5; ++i) {
            CHECK(guest.run("echo quick").reply.out.head == "quick\n");
        }
        CHECK(guest.commands->running() == 1);
        const auto reply = guest.wait_for(noisy).reply;
        CHECK(reply.fate == Fate::timed_out);
        const auto& out = reply.out;
        CHECK(out.total_bytes > 1'000'000);
        CHECK(out.head.size() == 6000);
        CHECK(out.tail.size() == 4000);
        CHECK(out.omitted_bytes == out.total_bytes - 10'000);
        CHECK(out.total_lines == (out.total_bytes + 1) / 2);
        CHECK(out.omitted_lines == out.omitted_bytes / 2);
        CHECK(out.spill_bytes == 1'000'000);
        CHECK(std::filesystem::file_size(out.spill_path) == 1'000'000);
        CHECK(!out.spill_error.empty());
        CHECK(resident_kilobytes() - before < 4096);
        CHECK(guest.run("echo on").reply.out.head == "on\n");
    }
}

TEST_CASE("binary output and one endless line")
{
    Guest guest(Mode::subreaper);
    const std::string bytes = guest.run("printf '\\0\\377\\001\\n\\200'").reply.out.head;
    CHECK(bytes == std::string("\0\377\001\n\200", 5));
    const auto out = guest.run("head -c 5000000 /dev/zero").reply.out;
    CHECK(out.total_bytes == 5'000'000);
    CHECK(out.total_lines == 1);
    CHECK(out.omitted_lines == 0);
    CHECK(out.omitted_bytes == 4'990'000);
    CHECK(std::filesystem::file_size(out.spill_path) == 5'000'000);
    CHECK(out.spill_error.empty());
}

TEST_CASE("a byte at a time")
{
    Guest guest(Mode::subreaper);
    const auto reply =
        guest.run("for i in 1 2 3 4 5; do printf $i; sleep 0.05; done", 20'000).reply;
    CHECK(reply.out.head == "12345");
    CHECK(reply.out.total_lines == 1);
    CHECK(guest.run("while :; do printf x; sleep 0.1; done", 350).reply.out.total_bytes >= 3);
}

TEST_CASE("a spill that fails is told and fails nothing")
{
    Guest guest(Mode::subreaper,
                [](protocol::GuestConfig& config) { config.spill_directory = "/proc/nowhere"; });
    const auto reply = guest.run("seq 100000").reply;
    CHECK(reply.fate == Fate::exited);
    CHECK(reply.out.total_bytes == 588895);
    CHECK(reply.out.spill_path.empty());
    CHECK(!reply.out.spill_error.empty());
}

TEST_CASE("a full disk under the spill is told, and costs nothing but the rest of the file")
{
    const tests::TemporaryDirectory disk;
    const std::string path = disk / "";
    if (::mount("none", path.c_str(), "tmpfs", 0, "size=256k") != 0) {
        return; // only root can make a disk that is so small
    }
    {
        Guest guest(Mode::subreaper, [&](protocol::GuestConfig& config) {
            config.spill_directory = path + "spill";
        });
        const auto reply = guest.run("seq 100000; echo on >&2").reply;
        CHECK(reply.fate == Fate::exited);
        CHECK(reply.exit_code == 0);
        CHECK(reply.out.total_bytes == 588895);
        CHECK(reply.out.spill_error.find("No space") != std::string::npos);
        CHECK(reply.out.spill_bytes <= 262'144);
        CHECK(reply.out.tail.ends_with("100000\n"));
        CHECK(reply.err.head == "on\n");
        CHECK(guest.run("echo on").reply.out.head == "on\n");
    }
    CHECK(::umount2(path.c_str(), MNT_DETACH) == 0);
}

} // namespace berth::guest::test

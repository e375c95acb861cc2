#include "sandbox/guest/exec/output.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mount.h>

namespace berth::guest::test {
namespace {

using tests::TemporaryDirectory;

constexpr std::uint64_t job_tail = 8UL * 1024;

/// Byte n of the stream is known by n.
std::string numbered(std::uint64_t begin, std::uint64_t size)
{
    std::string text;
    for (std::uint64_t at = begin; at < begin + size; ++at) {
        text += static_cast<char>('a' + at % 23);
    }
    return text;
}

/// Everything from `offset` on; `offset` becomes that of the first byte.
std::string read_all(const OutputStream& stream, std::uint64_t& offset, std::size_t piece)
{
    std::string text = stream.read(offset, stream.total_bytes(), piece);
    for (;;) {
        std::uint64_t next = offset + text.size();
        const std::string more = stream.read(next, stream.total_bytes(), piece);
        if (more.empty()) {
            return text;
        }
        CHECK(next == offset + text.size()); // no gap in the middle
        text += more;
    }
}

} // namespace

TEST_CASE("a job's stream is read by the numbers of its bytes, from memory and from disk")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 0, 0);
    for (const std::uint64_t size : {0UL, 1UL, job_tail - 1, job_tail, job_tail + 1, 70'000UL}) {
        for (const std::uint64_t step : {1UL, 1000UL, 9000UL}) {
            OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
            stream.keep_newest();
            for (std::uint64_t at = 0; at < size; at += step) {
                stream.add(numbered(at, std::min(step, size - at)));
            }
            CAPTURE(size);
            CAPTURE(step);
            REQUIRE(stream.total_bytes() == size);
            for (const std::uint64_t from : {std::uint64_t(0), size / 3, size - size / 8, size}) {
                std::uint64_t offset = from;
                REQUIRE(read_all(stream, offset, 777) == numbered(from, size - from));
                REQUIRE(offset == from);
            }
            // Small output touches no disk.
            CHECK(stream.result().spill_path.empty() == (size <= job_tail));
            stream.close();
            std::uint64_t offset = 0;
            CHECK(read_all(stream, offset, 4096) == numbered(0, size));
        }
    }
}

TEST_CASE("a command's stream that becomes a job's keeps its numbers")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 0, 0);
    OutputStream stream(UniqueFd(), 100, 50, store, "stdout");
    stream.add(numbered(0, 30'000));
    stream.keep_newest();
    stream.add(numbered(30'000, 30'000));
    std::uint64_t offset = 12'345;
    CHECK(read_all(stream, offset, 5000) == numbered(12'345, 60'000 - 12'345));
    CHECK(offset == 12'345);
}

TEST_CASE("of a job that prints on and on the newest output stays, within the limit of a stream")
{
    const TemporaryDirectory directory;
    constexpr std::uint64_t limit = 400'000;
    SpillStore store(directory / "s", limit, 0);
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.keep_newest();
    constexpr std::uint64_t total = 3'000'000;
    for (std::uint64_t at = 0; at < total; at += 10'000) {
        stream.add(numbered(at, 10'000));
        std::uint64_t on_disk = 0;
        for (const auto& file : std::filesystem::directory_iterator(directory / "s")) {
            on_disk += file.file_size();
        }
        REQUIRE(on_disk <= limit);
    }
    std::uint64_t offset = 0;
    const std::string kept = read_all(stream, offset, 65'536);
    CHECK(offset > 0);
    CHECK(kept.size() >= limit / 2);
    CHECK(offset + kept.size() == total);
    CHECK(kept == numbered(offset, total - offset));
    CHECK(stream.result().spill_error.empty());
    CHECK(stream.spill_begin() + stream.result().spill_bytes == total);
}

TEST_CASE("what a command took away is a gap, never a shift")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 400'000, 0);
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.keep_newest();
    stream.add(numbered(0, 250'000));
    std::filesystem::remove(directory / "s/1.stdout");
    stream.add(numbered(250'000, 50'000));
    stream.close();
    std::uint64_t offset = 10;
    const std::string kept = read_all(stream, offset, 65'536);
    CHECK(offset == 100'000); // the file's part
    CHECK(offset + kept.size() == 300'000);
    CHECK(kept == numbered(offset, 300'000 - offset));
}

TEST_CASE("what a command did to the newest file shifts nothing")
{
    enum class How { cut, cut_and_filled, appended };
    for (const How how : {How::cut, How::cut_and_filled, How::appended}) {
        for (const bool asked : {false, true}) {
            const TemporaryDirectory directory;
            SpillStore store(directory / "s", 0, 0);
            OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
            stream.keep_newest();
            stream.add(numbered(0, 20'000));
            const std::string path = directory / "s/1.stdout";
            if (how != How::appended) {
                std::filesystem::resize_file(path, 0);
            }
            if (how != How::cut) {
                std::ofstream(path, std::ios::app) << std::string(15'000, '?');
            }
            if (asked) {
                (void)stream.result();
            }
            stream.add(numbered(20'000, 20'000));
            if (how == How::cut_and_filled) {
                std::ofstream(path, std::ios::app) << std::string(5'000, '?');
            }
            CAPTURE(static_cast<int>(how));
            CAPTURE(asked);
            std::uint64_t offset = 0;
            const std::string kept = read_all(stream, offset, 65'536);
            CHECK(offset == 20'000);
            CHECK(kept == numbered(offset, 40'000 - offset));
        }
    }
}

TEST_CASE("a file that a result has named outlives what the job prints on")
{
    const TemporaryDirectory directory;
    constexpr std::uint64_t limit = 400'000;
    SpillStore store(directory / "s", limit, 0);
    OutputStream stream(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), 100, 50, store,
                        "stdout");
    stream.add(numbered(0, 390'000));
    const std::string named = stream.result().spill_path;
    stream.keep_newest();
    for (std::uint64_t at = 390'000; at < 2'000'000; at += 10'000) {
        stream.add(numbered(at, 10'000));
    }
    CHECK(std::filesystem::file_size(named) == 390'000);
    std::uint64_t offset = 1000;
    CHECK(stream.read(offset, stream.total_bytes(), 500) == numbered(1000, 500));
    std::uint64_t on_disk = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory / "s")) {
        on_disk += file.file_size();
    }
    CHECK(on_disk <= 390'000 + limit);
}

TEST_CASE("a stream that ended before its command became a job keeps all it has")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 0, 0);
    OutputStream stream(UniqueFd(), 100'000, 0, store, "stdout");
    stream.add(numbered(0, 50'000));
    stream.keep_newest();
    std::uint64_t offset = 0;
    CHECK(read_all(stream, offset, 65'536) == numbered(0, 50'000));
    CHECK(offset == 0);
}

TEST_CASE("a write that is larger than a file's part loses nothing")
{
    const TemporaryDirectory directory;
    constexpr std::uint64_t limit = 64'000;
    SpillStore store(directory / "s", limit, 0);
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.keep_newest();
    for (std::uint64_t at = 0; at < 650'000; at += 65'000) {
        stream.add(numbered(at, 5'000)); // leaves too little room for what comes next
        stream.add(numbered(at + 5'000, 60'000));
        CHECK(stream.result().spill_error.empty());
    }
    std::uint64_t offset = 0;
    const std::string kept = read_all(stream, offset, 65'536);
    CHECK(kept.size() >= limit / 2);
    CHECK(kept == numbered(offset, 650'000 - offset));
}

TEST_CASE("a disk that stays full is not filled with empty files")
{
    const TemporaryDirectory disk;
    const std::string path = disk / "";
    if (::mount("none", path.c_str(), "tmpfs", 0, "size=64k") != 0) {
        return; // only root can make a disk that is so small
    }
    {
        SpillStore store(path + "s", 0, 0);
        OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
        stream.keep_newest();
        for (int second = 0; second < 4; ++second) {
            stream.add(numbered(0, 100'000));
            std::this_thread::sleep_for(std::chrono::milliseconds(1050));
        }
        const auto files = std::filesystem::directory_iterator(path + "s");
        CHECK(std::distance(begin(files), end(files)) <= 2);
    }
    CHECK(::umount2(path.c_str(), MNT_DETACH) == 0);
}

TEST_CASE("without a disk the newest bytes are there")
{
    SpillStore store("/proc/nowhere", 0, 0);
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.keep_newest();
    stream.add(numbered(0, 50'000));
    std::uint64_t offset = 0;
    CHECK(read_all(stream, offset, 65'536) == numbered(50'000 - job_tail, job_tail));
    CHECK(offset == 50'000 - job_tail);
    CHECK(!stream.result().spill_error.empty());
}

TEST_CASE("a trap in the place of a file that is closed is not read")
{
    const TemporaryDirectory directory;
    SpillStore store(directory / "s", 0, 0);
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.keep_newest();
    stream.add(numbered(0, 50'000));
    const std::string path = stream.result().spill_path;
    stream.close();
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/etc/passwd", path);
    std::uint64_t offset = 0;
    CHECK(read_all(stream, offset, 65'536) == numbered(50'000 - job_tail, job_tail));
}

} // namespace berth::guest::test

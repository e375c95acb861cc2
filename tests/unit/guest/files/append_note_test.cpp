// What a kill in the midst of an append leaves, and what the session's next guest makes of it.

#include "sandbox/guest/files/append_note.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <chrono>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;

namespace {

const std::string old_content(1000, 'o');

/// No piece of it is like another.
const std::string& appended()
{
    static const std::string content = [] {
        std::string lines;
        for (int i = 10'000'000; lines.size() < 40'000'000; ++i) {
            lines += std::to_string(i) + "\n";
        }
        return lines;
    }();
    return content;
}

void append(const Machine& machine, const std::string& content)
{
    protocol::WriteFileRequest request;
    request.path = "f";
    request.content = content;
    request.mode = protocol::WriteMode::append;
    (void)write_file(request, machine.context);
}

/// An append that is killed once the file grows; what of it the file has then.
std::size_t append_and_kill(const Machine& machine)
{
    machine.put("f", old_content);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        try {
            append(machine, appended());
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && machine.status("f").st_size == static_cast<off_t>(old_content.size())) {
        ended = ::waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
    }
    return static_cast<std::size_t>(machine.status("f").st_size) - old_content.size();
}

/// An append that a kill has cut; how much of it there is.
std::size_t cut_append(const Machine& machine)
{
    for (int attempt = 0; attempt < 50; ++attempt) {
        const std::size_t written = append_and_kill(machine);
        if (written > 0 && written < appended().size()) {
            REQUIRE(machine.exists(".berth-append-0"));
            return written;
        }
        take_back_appends(machine.config);
    }
    FAIL("no kill struck in the midst");
    return 0;
}

/// What a command does.
void write_behind(const Machine& machine, std::string_view text)
{
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    write_full(file.get(), text);
}

} // namespace

TEST_CASE("what a killed guest had written of an append is taken back, and nothing else")
{
    const Machine machine;
    (void)cut_append(machine);
    take_back_appends(machine.config);
    CHECK(machine.get("f") == old_content);
    CHECK(machine.count() == 1);

    // Somebody else's bytes behind it.
    std::size_t written = cut_append(machine);
    write_behind(machine, "command");
    take_back_appends(machine.config);
    CHECK(machine.get("f") == old_content + appended().substr(0, written) + "command");
    CHECK(machine.count() == 1);

    // All of it was written, only the note is still there.
    written = cut_append(machine);
    write_behind(machine, std::string_view(appended()).substr(written));
    take_back_appends(machine.config);
    CHECK(machine.get("f") == old_content + appended());
    CHECK(machine.count() == 1);

    // Another file by now.
    (void)cut_append(machine);
    const std::string cut = machine.get("f");
    machine.put("other", cut);
    REQUIRE(::rename((machine.home + "/other").c_str(), (machine.home + "/f").c_str()) == 0);
    take_back_appends(machine.config);
    CHECK(machine.get("f") == cut);
    CHECK(machine.count() == 1);
}

TEST_CASE("the note of an append is found in a home of more files than are looked at first")
{
    const Machine machine;
    for (int i = 0; i < 400; ++i) {
        machine.put("a-file-of-the-user-" + std::to_string(i), "");
    }
    (void)cut_append(machine);
    take_back_appends(machine.config);
    CHECK(machine.get("f") == old_content);
    CHECK_FALSE(machine.exists(".berth-append-0"));
}

TEST_CASE("an append has no note once it has ended, and takes nobody's file for one")
{
    Machine machine;
    machine.put("f", old_content);
    machine.put(".berth-append-0", "a user's own");
    append(machine, appended());
    CHECK(machine.get("f") == old_content + appended());
    CHECK(machine.count() == 2);
    take_back_appends(machine.config);
    CHECK(machine.get(".berth-append-0") == "a user's own");
    CHECK(machine.get("f") == old_content + appended());

    // Where none can be made it goes on without one.
    machine.config.home = machine.base + "/none";
    machine.config.writable_roots = {machine.home};
    append(machine, appended());
    CHECK(machine.get("f").size() == old_content.size() + 2 * appended().size());
    take_back_appends(machine.config);
}

TEST_CASE("the note of an append that is under way is left to it")
{
    const Machine machine;
    machine.put("f", old_content);
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    const std::string content(10'000, 'n');
    {
        const AppendNote note(file.get(), content, machine.home + "/f", machine.context);
        write_full(file.get(), content.substr(0, 4000));
        take_back_appends(machine.config);
        CHECK(machine.get("f") == old_content + content.substr(0, 4000));
        CHECK(machine.exists(".berth-append-0"));
    }
    CHECK(machine.count() == 1);
    const AppendNote none(file.get(), "in one page", machine.home + "/f", machine.context);
    CHECK(machine.count() == 1);
}

TEST_CASE(
    "the note of an append takes no room that the append needs, and one that fails leaves nothing")
{
    const Machine machine;
    const int result = in_own_mounts([&] {
        REQUIRE(::mount("none", machine.home.c_str(), "tmpfs", 0, "size=30m") == 0);
        const std::string content = appended().substr(0, 20'000'000);
        machine.put("f", old_content);
        append(machine, content);
        bool right = machine.get("f") == old_content + content && machine.count() == 1;
        right = right && error_of([&] { append(machine, content); }).code() == ErrorCode::no_space;
        right = right && machine.get("f") == old_content + content && machine.count() == 1;
        return right ? 0 : 1;
    });
    CHECK(result == 0);
}

TEST_CASE("a note of an append that a command made up harms nothing but itself")
{
    const Machine machine;
    const std::string outside = machine.base + "/outside/f";
    const UniqueFd file(::open(outside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    write_full(file.get(), "first second");
    struct stat status = {};
    REQUIRE(::fstat(file.get(), &status) == 0);
    const auto number = [](std::uint64_t value) {
        return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    const std::string mark("berth append 1\n\0", 16);
    const auto put = [&](std::uint64_t size, std::uint64_t path_size, const std::string& rest) {
        machine.put(".berth-append-0",
                    mark + number(status.st_ino) + number(size) + number(path_size) + rest);
    };
    const auto note = [&](std::uint64_t size, std::uint64_t path_size, const std::string& rest) {
        put(size, path_size, rest);
        take_back_appends(machine.config);
    };
    // A file that the tools may not write; it is true in every other way.
    note(5, outside.size(), outside + " second and more");
    CHECK(read_file_limited(AT_FDCWD, outside, 100) == "first second");
    CHECK_FALSE(machine.exists(".berth-append-0"));
    // Sizes that lead beyond the note and the address space.
    note(5, 4000, outside);
    note(~std::uint64_t{0}, 1, "f");
    note(0, ~std::uint64_t{0}, "f");
    CHECK(machine.get(".berth-append-0").size() == 41); // not taken for a note
    // One of gigabytes, which says that all but the last byte of it is in the file: to compare them
    // would keep the guest from starting.
    machine.put("f", "");
    REQUIRE(::truncate((machine.home + "/f").c_str(), (1LL << 34) - 1000) == 0);
    status = machine.status("f");
    put(0, 1, "f");
    REQUIRE(::truncate((machine.home + "/.berth-append-0").c_str(), 1LL << 34) == 0);
    const auto begin = std::chrono::steady_clock::now();
    take_back_appends(machine.config);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
    CHECK_FALSE(machine.exists(".berth-append-0"));
    // What is no file does not keep the next one from being looked at.
    REQUIRE(::mkfifo((machine.home + "/.berth-append-0").c_str(), 0600) == 0);
    machine.put("f", "first second");
    status = machine.status("f");
    machine.put(".berth-append-1",
                mark + number(status.st_ino) + number(5) + number(1) + "f second and more");
    take_back_appends(machine.config);
    CHECK(machine.exists(".berth-append-0"));
    CHECK_FALSE(machine.exists(".berth-append-1"));
    CHECK(machine.get("f") == "first");
}

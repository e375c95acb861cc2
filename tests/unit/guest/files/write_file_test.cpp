#include "sandbox/base/sha256.hpp"
#include "sandbox/guest/files/replaced_files.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stop_token>
#include <thread>
#include <vector>

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/xattr.h>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using namespace std::string_literals;
using protocol::WriteMode;

namespace {

protocol::WriteFileReply put(const Machine& machine, const std::string& path,
                             const std::string& content, WriteMode mode = WriteMode::overwrite,
                             const std::string& if_sha256 = {})
{
    protocol::WriteFileRequest request;
    request.path = path;
    request.content = content;
    request.mode = mode;
    request.if_sha256 = if_sha256;
    return write_file(request, machine.context);
}

ErrorCode code_of_put(const Machine& machine, const std::string& path,
                      WriteMode mode = WriteMode::overwrite)
{
    return error_of([&] { (void)put(machine, path, "new", mode); }).code();
}

} // namespace

TEST_CASE("a file is created with its parents, then replaced, then appended to")
{
    const Machine machine;
    auto reply = put(machine, "a/b//./c.txt", "one\n");
    CHECK(reply.created);
    CHECK(reply.path == machine.home + "/a/b/c.txt");
    CHECK(reply.bytes == 4);
    CHECK(reply.size == 4);
    CHECK(reply.sha256 == sha256_hex("one\n"));
    CHECK((machine.status("a/b/c.txt").st_mode & 0777U) == 0644);

    reply = put(machine, "a/b/c.txt", "two\n");
    CHECK_FALSE(reply.created);
    CHECK(machine.get("a/b/c.txt") == "two\n");

    reply = put(machine, "~/../home/a/b/c.txt", "three\n", WriteMode::append);
    CHECK(machine.get("a/b/c.txt") == "two\nthree\n");
    CHECK(reply.bytes == 6);
    CHECK(reply.size == 10);
    CHECK(reply.sha256 == sha256_hex("two\nthree\n"));
    CHECK_FALSE(reply.created);
    CHECK(machine.count("home/a/b") == 1);

    CHECK(put(machine, "new", "x", WriteMode::append).created);
    CHECK(put(machine, "empty", "").sha256 == sha256_hex(""));
    CHECK(machine.get("empty").empty());
}

TEST_CASE("a small file that is replaced is let go of behind the answer, when its disk may be busy")
{
    const Machine machine;
    ReplacedFiles replaced;
    auto context = machine.context;
    context.replaced = &replaced;
    const auto write = [&](std::size_t size) {
        (void)write_file({.path = "file", .content = std::string(size, 'x')}, context);
        return replaced.count();
    };
    CHECK(write(10) == 0); // of what was not there
    CHECK(write(ReplacedFiles::largest + 1) == 1);
    CHECK(write(10) == 1); // a large one's room is wanted
}

TEST_CASE("create never replaces")
{
    const Machine machine;
    CHECK(put(machine, "f", "old", WriteMode::create).created);
    CHECK(code_of_put(machine, "f", WriteMode::create) == ErrorCode::conflict);
    CHECK(machine.get("f") == "old");
}

TEST_CASE("mode and attributes are kept, a set-user-id bit is not")
{
    const Machine machine;
    machine.put("f", "old", 0755);
    REQUIRE(::setxattr((machine.home + "/f").c_str(), "user.berth", "kept", 4, 0) == 0);
    (void)put(machine, "f", "new");
    CHECK((machine.status("f").st_mode & 07777U) == 0755);
    char value[16] = {};
    CHECK(::getxattr((machine.home + "/f").c_str(), "user.berth", value, sizeof(value)) == 4);
    CHECK(value == "kept"s);
    machine.put("s", "old", 04755);
    (void)put(machine, "s", "new");
    CHECK((machine.status("s").st_mode & 07777U) == 0755);
}

TEST_CASE("the owner is kept, by writing in place when nothing else would")
{
    const Machine machine;
    ::chmod(machine.base.c_str(), 0777);
    ::chmod(machine.home.c_str(), 0777);
    machine.put("f", "a long old content", 0666);
    const auto before = machine.status("f");
    CHECK(as_nobody([&] { (void)put(machine, "f", "new"); }).empty());
    CHECK(machine.get("f") == "new");
    CHECK(machine.status("f").st_uid == before.st_uid);
    CHECK(machine.count() == 1);
    if (::geteuid() == 0) {
        REQUIRE(::chown((machine.home + "/f").c_str(), 65534, 65533) == 0);
        (void)put(machine, "f", "newer");
        CHECK(machine.status("f").st_uid == 65534);
        CHECK(machine.status("f").st_gid == 65533);
    }
}

TEST_CASE("hard links stay one file, symlinks stay links")
{
    const Machine machine;
    machine.put("f", "old");
    REQUIRE(::link((machine.home + "/f").c_str(), (machine.home + "/g").c_str()) == 0);
    for (const auto& content : {"a much longer new content"s, "s"s, ""s}) {
        (void)put(machine, "f", content);
        CHECK(machine.get("g") == content);
        CHECK(machine.status("f").st_nlink == 2);
    }
    machine.put("target", "old");
    machine.link("target", "link");
    const auto reply = put(machine, "link", "new");
    CHECK(reply.path == machine.home + "/target");
    CHECK(S_ISLNK(machine.status("link").st_mode));
    CHECK(machine.get("target") == "new");
    machine.link("deep/er/file", "dangling");
    CHECK(put(machine, "dangling", "made").created);
    CHECK(machine.get("deep/er/file") == "made");
    CHECK(S_ISLNK(machine.status("dangling").st_mode));
    CHECK(machine.count() == 6);
}

TEST_CASE("a condition on the present content is held")
{
    const Machine machine;
    machine.put("f", "old");
    std::string upper = sha256_hex("old");
    for (char& c : upper) {
        c = static_cast<char>(::toupper(c));
    }
    CHECK_NOTHROW((void)put(machine, "f", "old", WriteMode::overwrite, upper));
    const Error error =
        error_of([&] { (void)put(machine, "f", "new", WriteMode::overwrite, sha256_hex("else")); });
    CHECK(error.code() == ErrorCode::conflict);
    CHECK(error.details().at("sha256") == sha256_hex("old"));
    CHECK(machine.get("f") == "old");
    CHECK(error_of([&] {
              (void)put(machine, "f", "new", WriteMode::append, sha256_hex("else"));
          }).code() == ErrorCode::conflict);
    CHECK(error_of([&] { (void)put(machine, "a/g", "new", WriteMode::overwrite, upper); }).code() ==
          ErrorCode::conflict);
    CHECK_FALSE(machine.exists("a"));
    CHECK(error_of([&] { (void)put(machine, "f", "new", WriteMode::overwrite, "abc"); }).code() ==
          ErrorCode::invalid_argument);
}

TEST_CASE("what is no file, or protected, is refused and stays")
{
    const Machine machine;
    ::mkdir((machine.home + "/d").c_str(), 0755);
    ::mkfifo((machine.home + "/pipe").c_str(), 0600);
    machine.put("ro", "old", 0444);
    machine.put("f", "old");
    machine.link("loop", "loop");
    CHECK(code_of_put(machine, "d") == ErrorCode::is_directory);
    CHECK(code_of_put(machine, "d/") == ErrorCode::is_directory);
    CHECK(code_of_put(machine, "d/.") == ErrorCode::is_directory);
    CHECK(code_of_put(machine, ".") == ErrorCode::is_directory);
    CHECK(code_of_put(machine, "~") == ErrorCode::is_directory);
    CHECK(code_of_put(machine, "new/") == ErrorCode::invalid_path);
    CHECK(code_of_put(machine, "f/") == ErrorCode::invalid_path);
    CHECK(code_of_put(machine, "new/../x") == ErrorCode::invalid_path);
    CHECK(code_of_put(machine, "pipe") == ErrorCode::not_a_file);
    CHECK(code_of_put(machine, "loop") == ErrorCode::invalid_path);
    const Error below = error_of([&] { (void)put(machine, "f/x", "new"); });
    CHECK(below.code() == ErrorCode::invalid_path);
    CHECK(below.what() == machine.home + "/f is a file, not a directory");
    CHECK(below.hint().find("exist") == std::string::npos);
    const Error pipe = error_of([&] { (void)put(machine, "pipe/x", "new"); });
    CHECK(pipe.what() == machine.home + "/pipe is a named pipe, not a directory");
    CHECK(pipe.hint() == "name a path that is not below it");
    for (const char* path : {".", "~/.", "./", "../home/."}) {
        CAPTURE(path);
        CHECK(error_of([&] { (void)put(machine, path, "new"); }).what() ==
              machine.home + " is a directory");
    }
    CHECK(code_of_put(machine, "new/" + std::string(256, 'n')) == ErrorCode::invalid_path);
    const Error error = error_of([&] { (void)put(machine, "ro", "new"); });
    CHECK(error.code() == ErrorCode::permission_denied);
    CHECK(error.hint().find("chmod") != std::string::npos);
    CHECK(code_of_put(machine, "ro", WriteMode::append) == ErrorCode::permission_denied);
    CHECK(machine.get("ro") == "old");
    CHECK(machine.get("f") == "old");
    CHECK(machine.count() == 5);
}

TEST_CASE("nothing is written or made outside, whatever the way to it")
{
    const Machine machine;
    const std::string outside = machine.base + "/outside";
    machine.link(outside, "out");
    machine.link(outside + "/new", "newlink");
    machine.link("../outside/new", "relative");
    machine.link("out/new", "chain");
    ::mkdir((machine.base + "/home2").c_str(), 0755);
    for (const std::string& path :
         {outside + "/x"s, "../outside/x"s, "out/x"s, "out/deep/x"s, "newlink"s, "relative"s,
          "chain"s, machine.base + "/home2/x"s, machine.base + "/x"s, "/x"s, "/etc/passwd"s,
          "/etc/passwd/"s, "/etc"s, "//etc/./passwd"s, "/proc/self/fd/1"s, "/dev/null"s,
          "../home2/deep/x"s, "out/../outside/x"s}) {
        CAPTURE(path);
        const Error error = error_of([&] { (void)put(machine, path, "new"); });
        CHECK(error.code() == ErrorCode::invalid_path);
    }
    CHECK(machine.count("outside") == 0);
    CHECK(machine.count("home2") == 0);
    CHECK(machine.count(".") == 3);
}

TEST_CASE("denials to an ordinary user leave everything as it was")
{
    const Machine machine;
    ::chmod(machine.base.c_str(), 0755);
    machine.put("foreign", "old", 0644);
    machine.put("locked-file", "old", 0666);
    ::chmod(machine.home.c_str(), 0555);
    CHECK(as_nobody([&] { (void)put(machine, "foreign", "new"); }) == "permission_denied");
    CHECK(as_nobody([&] { (void)put(machine, "locked-file", "new"); }) == "permission_denied");
    CHECK(as_nobody([&] { (void)put(machine, "made/x", "new"); }) == "permission_denied");
    CHECK(machine.get("foreign") == "old");
    CHECK(machine.get("locked-file") == "old");
    CHECK(machine.count() == 2);
    ::chmod(machine.home.c_str(), 0755);
}

TEST_CASE("who may not change a file or folder is told whose it is, and no chmod that cannot help")
{
    const Machine machine;
    ::chmod(machine.base.c_str(), 0755);
    machine.put("foreign", "old", 0644);
    ::chmod(machine.home.c_str(), 0555);
    for (const auto* path : {"foreign", "made/x", "new"}) {
        CAPTURE(path);
        const auto told = as_nobody([&] {
            try {
                (void)put(machine, path, "new");
            } catch (const Error& error) {
                const std::string what = error.what();
                const bool foreign = what.find("another user of the host") != std::string::npos;
                const bool useless = error.hint().find("chmod u+w") != std::string::npos;
                throw std::runtime_error(foreign == useless ? "unclear"
                                         : foreign          ? "another's"
                                                            : "own");
            }
        });
        if (::geteuid() == 0) {
            CHECK(told == "another's");
        } else {
            CHECK((told == "own" || told.empty())); // "foreign" is none
        }
    }
    ::chmod(machine.home.c_str(), 0755);
}

TEST_CASE("a full disk leaves the old content and says what is left")
{
    const Machine machine;
    CHECK(in_own_mounts([&] {
              REQUIRE(::mount("berth", machine.home.c_str(), "tmpfs", 0, "size=64k") == 0);
              const std::string old(20'000, 'o');
              machine.put("f", old);
              machine.put("h", old);
              int failed = ::link((machine.home + "/h").c_str(), (machine.home + "/i").c_str());
              for (const char* path : {"f", "h", "new", "made/deep/new"}) {
                  for (const WriteMode mode : {WriteMode::overwrite, WriteMode::append}) {
                      try {
                          (void)put(machine, path, std::string(100'000, 'n'), mode);
                          failed = 1;
                      } catch (const Error& error) {
                          failed |=
                              error.code() == ErrorCode::no_space &&
                                      error.hint().find("bytes are left") != std::string::npos &&
                                      error.details().at("available_bytes") != "0"
                                  ? 0
                                  : 2;
                      }
                  }
              }
              failed |= machine.get("f") == old && machine.get("h") == old ? 0 : 4;
              failed |= machine.count() == 3 ? 0 : 8;
              return failed;
          }) == 0);
}

TEST_CASE("where no inode is left it is that which is said, not how many bytes are")
{
    const Machine machine;
    CHECK(in_own_mounts([&] {
              const char* home = machine.home.c_str();
              REQUIRE(::mount("berth", home, "tmpfs", 0, "size=1m,nr_inodes=3") == 0);
              machine.put("f", "old");
              machine.put("g", "old");
              for (const auto* path : {"f", "new", "made/new"}) {
                  try {
                      (void)put(machine, path, "new");
                      return 1;
                  } catch (const Error& error) {
                      if (error.code() != ErrorCode::no_space ||
                          !error.hint().starts_with("no inode is left")) {
                          return 2;
                      }
                  }
              }
              return machine.get("f") == "old" ? 0 : 4;
          }) == 0);
}

TEST_CASE("a file on a read-only mount is told as that")
{
    const Machine machine;
    machine.put("f", "old", 0444);
    CHECK(in_own_mounts([&] {
              const char* home = machine.home.c_str();
              constexpr auto read_only =
                  MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
              REQUIRE(::mount(home, home, nullptr, MS_BIND, nullptr) == 0);
              REQUIRE(::mount("none", home, nullptr, read_only, nullptr) == 0);
              for (const auto* name : {"f", "new", "new/in/it"}) {
                  try {
                      (void)put(machine, name, "new");
                      return 1;
                  } catch (const Error& error) {
                      if (error.code() != ErrorCode::permission_denied ||
                          std::string(error.what()).find("read-only mount") == std::string::npos ||
                          error.hint().find("chmod") != std::string::npos) {
                          return 2;
                      }
                  }
              }
              return 0;
          }) == 0);
}

TEST_CASE(
    "a read-only mount outside of the home is told as that, unless all is narrowed to the home")
{
    Machine machine;
    const std::string mount = machine.base + "/outside";
    const auto refusal = [&](const std::string& path) {
        return error_of([&] { (void)put(machine, path, "new"); }).code();
    };
    CHECK(refusal(mount + "/f") == ErrorCode::invalid_path);
    machine.config.read_only_mounts = {mount};
    CHECK(refusal(mount + "/f") == ErrorCode::permission_denied);
    CHECK(refusal(mount + "/new/f") == ErrorCode::permission_denied);
    CHECK(refusal(mount + "side") == ErrorCode::invalid_path);
    machine.config.writable_roots = {mount + "/rw"};
    ::mkdir((mount + "/rw").c_str(), 0755);
    CHECK(put(machine, mount + "/rw/f", "new").created);
    machine.config.path_policy = "home";
    CHECK(refusal(mount + "/f") == ErrorCode::invalid_path);
}

TEST_CASE("a condition takes the beginning of a hash, long enough to mean one")
{
    const Machine machine;
    machine.put("f", "old");
    const std::string hash = sha256_hex("old");
    const auto code = [&](const std::string& condition) {
        return error_of([&] { (void)put(machine, "f", "new", WriteMode::overwrite, condition); })
            .code();
    };
    CHECK(code(hash.substr(0, 11)) == ErrorCode::invalid_argument);
    CHECK(code(hash + "0") == ErrorCode::invalid_argument);
    CHECK(code(sha256_hex("else").substr(0, 12)) == ErrorCode::conflict);
    CHECK_NOTHROW((void)put(machine, "f", "new", WriteMode::overwrite, hash.substr(0, 12)));
}

TEST_CASE("appends of many threads, and conditions among them, lose nothing")
{
    const Machine machine;
    machine.put("log", "");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                (void)put(machine, "log", "line\n", WriteMode::append);
            }
        });
    }
    threads.clear();
    CHECK(machine.get("log").size() == 8UL * 50 * 5);

    // Of all who create, and of all who know the same hash, one wins.
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> created{0};
        std::atomic<int> replaced{0};
        const std::string name = "file" + std::to_string(round);
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                try {
                    (void)put(machine, name, "0", WriteMode::create);
                    ++created;
                } catch (const Error&) {
                    CHECK(machine.exists(name));
                }
            });
        }
        threads.clear();
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                try {
                    (void)put(machine, name, std::to_string(t) + "!", WriteMode::overwrite,
                              sha256_hex("0"));
                    ++replaced;
                } catch (const Error& error) {
                    CHECK(error.code() == ErrorCode::conflict);
                }
            });
        }
        threads.clear();
        CHECK(created == 1);
        CHECK(replaced == 1);
    }
}

TEST_CASE("who reads while others write sees an old or a new content, whole")
{
    const Machine machine;
    machine.put("f", std::string(1000, 'a'));
    std::atomic<bool> done{false};
    std::jthread writer([&] {
        for (int i = 0; i < 2000; ++i) {
            (void)put(machine, "f", std::string(1000, static_cast<char>('a' + i % 26)));
        }
        done = true;
    });
    int reads = 0;
    int bad = 0;
    for (; !done; ++reads) {
        const auto content = read_file(read_request("f"), machine.context).content;
        bad += content == std::string(1000, content.empty() ? '?' : content[0]) ? 0 : 1;
    }
    CHECK(reads > 0);
    CHECK(bad == 0);
}

TEST_CASE("a directory that becomes a symlink and back never leads a write outside")
{
    const Machine machine;
    const std::string d = machine.home + "/d";
    const std::string link = machine.home + "/link";
    ::mkdir(d.c_str(), 0755);
    machine.link(machine.base + "/outside", "link");
    std::atomic<bool> done{false};
    std::jthread swapper([&] {
        while (!done) {
            ::renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
        }
    });
    int written = 0;
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
        try {
            (void)put(machine, i % 2 == 0 ? "d/f" : "d/sub/deep" + std::to_string(i % 7) + "/f",
                      "x", i % 3 == 0 ? WriteMode::append : WriteMode::overwrite);
            ++written;
        } catch (const Error& error) {
            CAPTURE(error.what());
            CHECK(error.code() != ErrorCode::internal);
            ++refused;
        }
    }
    done = true;
    swapper.join();
    CHECK(machine.count("outside") == 0);
    CHECK(written > 0);
    CHECK(refused > 0);
}

#include "sandbox/base/sha256.hpp"
#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/transfer.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/files/content_waiter.hpp"
#include "tests/unit/guest/files/fixture.hpp"
#include "tests/unit/guest/replacing.hpp"

#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using berth::tests::becomes_true;
using protocol::TransferHeader;

namespace {

struct Entry {
    TransferHeader header;
    std::string content;
};

std::string encoded(const std::vector<Entry>& entries)
{
    std::string stream;
    for (const auto& entry : entries) {
        const std::string header = protocol::encode(entry.header);
        protocol::put_varint(stream, header.size());
        stream += header + entry.content;
    }
    return stream;
}

Entry entry(const std::string& name, const std::string& content, std::uint32_t mode = 0644)
{
    return {{.name = name, .size = content.size(), .mode = mode}, content};
}

/// As the guest sends it when a pattern was asked for.
Entry matched(Entry entry)
{
    entry.header.matched = true;
    return entry;
}

struct Exported {
    protocol::ExportReply reply;
    std::string stream;
};

Exported export_it(const Machine& machine, const std::string& path,
                   std::uint64_t max_bytes = 1 << 20, std::uint64_t max_entries = 100,
                   bool from_home = false)
{
    Exported exported;
    const CallContext context{machine.context.config,
                              machine.context.session,
                              {},
                              [&](std::string_view piece) {
                                  CHECK(piece.size() <= protocol::max_data_size);
                                  CHECK_FALSE(piece.empty());
                                  exported.stream += piece;
                              },
                              {}};
    protocol::ExportRequest request;
    request.path = path;
    request.max_bytes = max_bytes;
    request.max_entries = max_entries;
    request.from_home = from_home;
    exported.reply = export_files(request, context);
    return exported;
}

protocol::ImportReply import_it(const Machine& machine, const std::string& path,
                                const std::string& stream, bool single = false,
                                bool overwrite = true, std::size_t step = 7,
                                std::vector<std::string> names = {})
{
    std::size_t at = 0;
    const CallContext context{machine.context.config, machine.context.session, {}, {}, [&] {
                                  std::string piece = stream.substr(at, step);
                                  at += piece.size();
                                  return piece;
                              }};
    protocol::ImportRequest request;
    request.path = path;
    request.single = single;
    request.overwrite = overwrite;
    request.names = std::move(names);
    return import_files(request, context);
}

void fill(const Machine& machine)
{
    ::mkdir((machine.home + "/tree").c_str(), 0755);
    ::mkdir((machine.home + "/tree/sub").c_str(), 0755);
    machine.put("tree/b.txt", "bb", 0755);
    machine.put("tree/a.txt", "");
    machine.put("tree/sub/c.txt", "ccc", 0600);
    machine.put("tree/sub/d.bin", "d");
    machine.link("/etc/passwd", "tree/link");
    ::mkfifo((machine.home + "/tree/pipe").c_str(), 0600);
}

} // namespace

TEST_CASE("a directory is exported by name, what is no file is skipped and named")
{
    const Machine machine;
    fill(machine);
    const auto exported = export_it(machine, "tree/");
    CHECK(exported.reply.root == machine.home + "/tree");
    CHECK_FALSE(exported.reply.single);
    CHECK(exported.reply.files == 4);
    CHECK(exported.reply.bytes == 6);
    CHECK(exported.reply.skipped ==
          std::vector<std::string>{"link: symbolic link", "pipe: named pipe"});
    CHECK(exported.stream == encoded({entry("a.txt", ""), entry("b.txt", "bb", 0755),
                                      entry("sub/c.txt", "ccc", 0600), entry("sub/d.bin", "d")}));
}

TEST_CASE("of much that is skipped the first thousand are named and all are counted")
{
    const Machine machine;
    ::mkdir((machine.home + "/tree").c_str(), 0755);
    machine.put("tree/a.txt", "");
    for (int i = 0; i < 1002; ++i) {
        machine.link("a.txt", "tree/link" + std::to_string(1000 + i));
    }
    const auto exported = export_it(machine, "tree");
    CHECK(exported.reply.files == 1);
    CHECK(exported.reply.skipped.size() == 1000);
    CHECK(exported.reply.skipped_total == 1002);
}

TEST_CASE("what a workspace cannot hold is named: names that are not UTF-8, empty directories")
{
    const Machine machine;
    fill(machine);
    machine.put("tree/\xff.txt", "");
    ::mkdir((machine.home + "/tree/\xfe").c_str(), 0755);
    machine.put("tree/\xfe/in", "");
    ::mkdir((machine.home + "/tree/sub/none").c_str(), 0755);
    const auto exported = export_it(machine, "tree");
    CHECK(exported.reply.files == 4);
    CHECK(exported.reply.skipped ==
          std::vector<std::string>{"\\xfe: its name is not UTF-8",
                                   "\\xff.txt: its name is not UTF-8", "link: symbolic link",
                                   "pipe: named pipe", "sub/none: empty directory"});
    CHECK(export_it(machine, "tree/*.txt").reply.skipped ==
          std::vector<std::string>{"\\xff.txt: its name is not UTF-8"});
    // That it matched nothing would not be true.
    ::unlink((machine.home + "/tree/a.txt").c_str());
    ::unlink((machine.home + "/tree/b.txt").c_str());
    CHECK(export_it(machine, "tree/*.txt").reply.skipped.size() == 1);
}

TEST_CASE("one file and a pattern are exported")
{
    const Machine machine;
    fill(machine);
    auto exported = export_it(machine, "tree/b.txt");
    CHECK(exported.reply.single);
    CHECK(exported.reply.root == machine.home + "/tree");
    auto named = entry("b.txt", "bb", 0755);
    named.header.single = true;
    CHECK(exported.stream == encoded({named}));
    exported = export_it(machine, "tree/*.txt");
    CHECK_FALSE(exported.reply.single);
    CHECK(exported.stream ==
          encoded({matched(entry("a.txt", "")), matched(entry("b.txt", "bb", 0755))}));
    exported = export_it(machine, "tree/**/*.txt");
    CHECK(exported.reply.files == 3);
    exported = export_it(machine, "tre[e]/sub/{c,d}.*");
    CHECK(exported.reply.root == machine.home);
    CHECK(exported.stream == encoded({matched(entry("tree/sub/c.txt", "ccc", 0600)),
                                      matched(entry("tree/sub/d.bin", "d"))}));
}

TEST_CASE("who asks for it has names that begin at the home")
{
    const Machine machine;
    fill(machine);
    const auto stream = [&](auto path) {
        return export_it(machine, path, 1 << 20, 9, true).stream;
    };
    auto one = entry("tree/b.txt", "bb", 0755);
    one.header.single = true;
    CHECK(stream("~/tree/b.txt") == encoded({one}));
    CHECK(stream("~/tree/sub/c.*") == encoded({matched(entry("tree/sub/c.txt", "ccc", 0600))}));
    CHECK(tests::error_of([&] { (void)stream("/etc/passwd"); }) == ErrorCode::invalid_path);
    CHECK(tests::error_of([&] { (void)stream("~/tree/../../x"); }) == ErrorCode::invalid_path);
}

TEST_CASE("what is there is no pattern, whatever characters are in its name")
{
    const Machine machine;
    for (const std::string name : {"[slug]", "{a,b}", "st*r", "wh?t"}) {
        CAPTURE(name);
        ::mkdir((machine.home + "/" + name).c_str(), 0755);
        machine.put(name + "/a.txt", "a");
        auto file = entry("a.txt", "a");
        CHECK(export_it(machine, name).stream == encoded({file}));
        CHECK(export_it(machine, name + "/").stream == encoded({file}));
        machine.link(name, "l" + name);
        CHECK(export_it(machine, "l" + name).stream == encoded({file}));
        file.header.single = true;
        CHECK(export_it(machine, name + "/a.txt").stream == encoded({file}));
    }
    CHECK(export_it(machine, "[s]*/*.txt").stream == encoded({matched(entry("st*r/a.txt", "a"))}));
}

TEST_CASE("a symlink is exported under its own name")
{
    const Machine machine;
    fill(machine);
    machine.link("tree/b.txt", "la");
    const auto exported = export_it(machine, "la");
    auto named = entry("la", "bb", 0755);
    named.header.single = true;
    CHECK(exported.reply.root == machine.home);
    CHECK(exported.stream == encoded({named}));
}

TEST_CASE("a file that says that it is empty is exported as it reads")
{
    const Machine machine;
    const std::string content = read_file_limited(AT_FDCWD, "/proc/version", 10'000);
    REQUIRE_FALSE(content.empty());
    const auto exported = export_it(machine, "/proc/version");
    CHECK(exported.reply.bytes == content.size());
    CHECK(exported.stream.ends_with(content));
}

TEST_CASE("a pattern is not looked for where nothing can match it")
{
    const Machine machine;
    std::string deep = "tree/";
    for (int i = 0; i < 210; ++i) {
        ::mkdir((machine.home + "/" + deep).c_str(), 0755);
        deep += "d/";
    }
    ::mkdir((machine.home + "/" + deep).c_str(), 0755);
    machine.put(deep + "far.txt", "");
    machine.put("tree/near.txt", "");
    const auto near = export_it(machine, "tree/*.txt");
    CHECK(near.reply.files == 1);
    CHECK(near.reply.skipped.empty());
    CHECK(export_it(machine, "tree/**/*.txt").reply.skipped.size() == 1); // too deep
}

TEST_CASE("a large file travels in pieces, and comes back as it was")
{
    const Machine machine;
    std::string content;
    for (int i = 0; content.size() < 700'000; ++i) {
        content += std::to_string(i);
    }
    machine.put("big", content, 0711);
    const auto exported = export_it(machine, "big");
    const auto reply = import_it(machine, "copy/of/it", exported.stream, true, true, 100'000);
    REQUIRE(reply.files.size() == 1);
    CHECK(reply.files[0].path == machine.home + "/copy/of/it");
    CHECK(reply.files[0].sha256 == sha256_hex(content));
    CHECK(machine.get("copy/of/it") == content);
    CHECK((machine.status("copy/of/it").st_mode & 07777U) == 0711);
}

TEST_CASE("an export that is too much, or not there, is refused before anything is sent")
{
    const Machine machine;
    fill(machine);
    const auto code = [&](const std::string& path, std::uint64_t bytes, std::uint64_t entries) {
        return error_of([&] { (void)export_it(machine, path, bytes, entries); }).code();
    };
    CHECK(code("tree", 5, 100) == ErrorCode::too_large);
    CHECK(code("tree", 100, 3) == ErrorCode::too_large);
    CHECK(code("tree/b.txt", 1, 1) == ErrorCode::too_large);
    CHECK(code("none", 100, 100) == ErrorCode::not_found);
    CHECK(code("tree/*.none", 100, 100) == ErrorCode::not_found);
    CHECK(code("none/*.txt", 100, 100) == ErrorCode::not_found);
    CHECK(code("tree/pipe", 100, 100) == ErrorCode::not_a_file);
    CHECK_NOTHROW((void)export_it(machine, "tree", 6, 4));
}

TEST_CASE("a file that is replaced again and again is exported all the same")
{
    const Machine machine;
    ::mkdir((machine.home + "/d").c_str(), 0755);
    machine.put("d/f", "content");
    const tests::Replacing replacing(machine.home + "/d/f", machine.home + "/next", "content");
    for (int i = 0; i < 10000; ++i) {
        REQUIRE(export_it(machine, "d").reply.files == 1);
    }
}

TEST_CASE("names of a transfer that choose their own place are refused")
{
    const Machine machine;
    for (const std::string& name :
         {std::string("../x"), std::string("/x"), std::string("a/../../x"), std::string("a//x"),
          std::string("./x"), std::string(""), std::string("a/"), std::string(".."),
          std::string("a\0b", 3)}) {
        CAPTURE(name);
        CHECK(error_of([&] {
                  (void)import_it(machine, "in", encoded({entry(name, "x")}));
              }).code() == ErrorCode::invalid_path);
    }
    ::mkdir((machine.home + "/in").c_str(), 0755);
    machine.link(machine.base + "/outside", "in/out");
    CHECK(error_of([&] {
              (void)import_it(machine, "in", encoded({entry("out/x", "x")}));
          }).code() == ErrorCode::invalid_path);
    CHECK(error_of([&] { (void)import_it(machine, "../outside", ""); }).code() ==
          ErrorCode::invalid_path);
    CHECK(error_of([&] { (void)import_it(machine, "/etc", ""); }).code() ==
          ErrorCode::invalid_path);
    CHECK(machine.count("outside") == 0);
}

TEST_CASE("several files go into a directory, and what is none is told to be what it is")
{
    const Machine machine;
    machine.put("f", "x");
    ::mkfifo((machine.home + "/pipe").c_str(), 0600);
    machine.link(machine.base + "/outside/new", "out");
    const std::string stream = encoded({entry("a.txt", "a")});
    const auto refused = [&](const std::string& path) {
        const Error error = error_of([&] { (void)import_it(machine, path, stream); });
        CHECK(error.code() == ErrorCode::invalid_path);
        return error;
    };
    const std::string needed = ", and several files need a directory";
    for (const char* path : {"f", "f/", "./f/."}) {
        CAPTURE(path);
        const Error file = refused(path);
        CHECK(file.what() == machine.home + "/f is a file" + needed);
        CHECK(file.hint().starts_with("load them into a directory"));
    }
    CHECK(refused("pipe").what() == machine.home + "/pipe is a named pipe" + needed);
    const Error below = refused("f/sub");
    CHECK(below.what() == machine.home + "/f is a file, not a directory");
    CHECK(below.hint().starts_with("load them into a directory"));
    // No name that nobody gave.
    for (const std::string path : {"/outside/new", "/outside", "/outside/new/x"}) {
        CAPTURE(path);
        const std::string what = refused(machine.base + path).what();
        CHECK(what.starts_with(machine.base + path + " is outside"));
    }
    CHECK(std::string(refused("out").what()).starts_with(machine.base + "/outside/new is outside"));
    CHECK(machine.count("outside") == 0);
    (void)import_it(machine, "new/deep/.", stream);
    CHECK(machine.get("new/deep/a.txt") == "a");
}

TEST_CASE("a load that fails in the middle tells what it has replaced, and where it failed")
{
    const Machine machine;
    ::mkdir((machine.home + "/in").c_str(), 0755);
    machine.put("in/a", "old");
    machine.put("in/b", "kept", 0444);
    const auto stream = encoded({entry("a", "new"), entry("b", "new"), entry("c", "new")});
    Error error = error_of([&] { (void)import_it(machine, "in", stream); });
    CHECK(error.code() == ErrorCode::permission_denied);
    CHECK(std::string(error.what())
              .ends_with("; it is b of the load, which has written 1 file "
                         "before it: a"));
    CHECK(machine.get("in/a") == "new");
    // What breaks off between two files has written the first of them.
    machine.put("in/a", "old");
    const auto broken = encoded({entry("a", "new")}) + encoded({entry("b", "new")}).substr(0, 3);
    error = error_of([&] { (void)import_it(machine, "in", broken); });
    CHECK(std::string(error.what())
              .ends_with("; it is the next file of the load, which has written 1 file "
                         "before it: a"));
    CHECK(machine.get("in/a") == "new");
    // Who says what will come is told before anything is written.
    machine.put("in/a", "old");
    error =
        error_of([&] { (void)import_it(machine, "in", stream, false, true, 7, {"a", "b", "c"}); });
    CHECK(error.code() == ErrorCode::permission_denied);
    CHECK(std::string(error.what()).ends_with("; it is b of the load, which has written nothing"));
    CHECK(machine.get("in/a") == "old");
    CHECK(error_of([&] {
              (void)import_it(machine, "in", stream, false, true, 7, {"a", "../b"});
          }).code() == ErrorCode::invalid_path);
    CHECK(machine.count("home/in") == 2);
    std::vector<Entry> many;
    for (int i = 100; i < 130; ++i) {
        many.push_back(entry("n" + std::to_string(i), "x"));
    }
    many.push_back(entry("b", "new"));
    error = error_of([&] { (void)import_it(machine, "in", encoded(many)); });
    CHECK(std::string(error.what()).ends_with(", n109 and 20 more"));
}

TEST_CASE("a set-user-id bit does not travel, an existing file gets the new mode")
{
    const Machine machine;
    machine.put("f", "old", 0600);
    (void)import_it(machine, "~", encoded({entry("f", "new", 04755), entry("g", "x", 0)}));
    CHECK(machine.get("f") == "new");
    CHECK((machine.status("f").st_mode & 07777U) == 0755);
    CHECK((machine.status("g").st_mode & 07777U) == 0644);
}

TEST_CASE("without overwrite what exists stays")
{
    const Machine machine;
    machine.put("f", "old");
    CHECK(error_of([&] {
              (void)import_it(machine, "f", encoded({entry("f", "new")}), true, false);
          }).code() == ErrorCode::conflict);
    CHECK(error_of([&] {
              (void)import_it(machine, ".//", encoded({entry("f", "new")}), false, false);
          }).code() == ErrorCode::conflict);
    CHECK(machine.get("f") == "old");
    CHECK(machine.count() == 1);
}

TEST_CASE("a transfer that breaks off leaves no part of a file")
{
    const Machine machine;
    const std::string whole = encoded({entry("a", "first"), entry("b", "second")});
    for (std::size_t size = 1; size < whole.size(); ++size) {
        CAPTURE(size);
        try {
            (void)import_it(machine, "in", whole.substr(0, size));
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
        }
        CHECK((!machine.exists("in/a") || machine.get("in/a") == "first"));
        CHECK_FALSE(machine.exists("in/b"));
    }
    CHECK(import_it(machine, "in", whole).files.size() == 2);
    CHECK(machine.count("home/in") == 2);
    CHECK(error_of([&] { (void)import_it(machine, "one", whole, true); }).code() ==
          ErrorCode::invalid_argument);
    CHECK(error_of([&] { (void)import_it(machine, "in", std::string(20, '\xff')); }).code() ==
          ErrorCode::invalid_argument);
}

TEST_CASE("an import onto somebody else's file keeps its mode, as it keeps its owner")
{
    const Machine machine;
    ::chmod(machine.base.c_str(), 0777);
    ::chmod(machine.home.c_str(), 0777);
    machine.put("f", "a long old content", 0666);
    const auto before = machine.status("f");
    CHECK(as_nobody([&] {
              (void)import_it(machine, "f", encoded({entry("f", "new", 0640)}), true);
          }).empty());
    CHECK(machine.get("f") == "new");
    const auto after = machine.status("f");
    CHECK(after.st_uid == before.st_uid);
    // Without another user to be there is no other file.
    CHECK((after.st_mode & 07777U) == (::geteuid() == 0 ? 0666 : 0640));
    CHECK(machine.count() == 1);
}

TEST_CASE("an import in place sets the mode, or changes nothing")
{
    const Machine machine;
    machine.put("f", "old", 0600);
    REQUIRE(::link((machine.home + "/f").c_str(), (machine.home + "/g").c_str()) == 0);
    const UniqueFd file(::open((machine.home + "/f").c_str(), O_RDONLY | O_CLOEXEC));
    std::stop_source stop;
    bool sent = false;
    const CallContext context{
        machine.context.config, machine.context.session, stop.get_token(), {}, [&] {
            return std::exchange(sent, true) ? std::string() : encoded({entry("f", "new", 0751)});
        }};
    protocol::ImportRequest request;
    request.path = "f";
    request.single = true;
    request.overwrite = true;
    {
        const ContentLock reader(file.get(), ContentLock::Kind::shared, {});
        std::jthread cancelled([&] {
            CHECK(error_of([&] { (void)import_files(request, context); }).code() ==
                  ErrorCode::cancelled);
        });
        CHECK(becomes_true([&] { return a_writer_waits(file.get()); }));
        stop.request_stop();
    }
    CHECK(machine.get("g") == "old");
    CHECK((machine.status("g").st_mode & 07777U) == 0600);
    (void)import_it(machine, "f", encoded({entry("f", "new", 0751)}), true);
    CHECK(machine.get("g") == "new");
    CHECK((machine.status("g").st_mode & 07777U) == 0751);
    CHECK(machine.count() == 2);
}

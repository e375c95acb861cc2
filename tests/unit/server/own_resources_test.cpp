#include "sandbox/base/error.hpp"
#include "server/own_resources.hpp"
#include "server/workspace_uri.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using berth::tests::error_of;
using Names = std::vector<std::string>;

namespace {

struct Fixture {
    void save(const std::string& path, std::string_view bytes, const std::string& owner = "ann")
    {
        auto writer = store->create(owner, path, 0644, true);
        writer->write(bytes);
        (void)writer->commit();
    }

    Names uris(const mcp::ResourcePage& page)
    {
        Names names;
        for (const auto& each : page.resources) {
            names.push_back(each.uri);
        }
        return names;
    }

    berth::tests::TemporaryDirectory directory;
    std::unique_ptr<workspace::Store> store = workspace::make_directory_store(directory / "store");
    OwnResources resources{{.workspace = store.get(),
                            .principal = "ann",
                            .session = [](const std::stop_token&) { return "{\"facts\":1}"; }}};
    std::size_t held = 0;
    OwnResources::Hold hold = [this](std::size_t bytes) { held += bytes; };
};

} // namespace

TEST_CASE("a path is a URI, and one of its URIs is the path again")
{
    CHECK(workspace_uri("/a b/\xc3\xa4?#%.txt") == "workspace:///a%20b/%C3%A4%3F%23%25.txt");
    for (const std::string path : {"/a", "/a/b.txt", "/a b/\xff%2F?#&=+"}) {
        CHECK(workspace_path(workspace_uri(path)) == path);
    }
    CHECK(workspace_path("workspace://a/b") == "a/b");
    CHECK_FALSE(workspace_path("file:///etc/passwd"));
    CHECK_FALSE(workspace_path("workspace:/a"));
    CHECK(error_of([] { (void)workspace_path(std::string_view("workspace:///a\0b", 16)); }) ==
          ErrorCode::invalid_argument);
    for (const auto* uri : {"workspace:///a%", "workspace:///a%zz", "workspace:///a%00",
                            "workspace:///a?b", "workspace:///a#b"}) {
        CAPTURE(uri);
        CHECK(error_of([&] { (void)workspace_path(uri); }) == ErrorCode::invalid_argument);
    }
}

TEST_CASE("a type is told by the end of the name")
{
    CHECK(mime_type_of("/a/b.PNG") == "image/png");
    CHECK(mime_type_of("/a.txt/b").empty());
    CHECK(mime_type_of("/.json.unknown").empty());
    CHECK(mime_type_of("/x.tar.gz") == "application/gzip");
}

TEST_CASE_FIXTURE(Fixture, "the list has the session and the caller's own files, page by page")
{
    CHECK(uris(resources.list("", {})) == Names{"berth://session"});
    for (std::size_t i = 0; i < OwnResources::page + 3; ++i) {
        save("n/" + std::to_string(1000 + i), "x");
    }
    save("other", "x", "bob");
    const auto first = resources.list("", {});
    CHECK(first.resources.size() == OwnResources::page + 1);
    CHECK(first.resources[1].uri == "workspace:///n/1000");
    CHECK(first.resources[1].name == "n/1000");
    CHECK(first.resources[1].size == 1);
    CHECK_FALSE(first.resources[1].modified.empty());
    const auto second = resources.list(first.next, {});
    CHECK(uris(second) ==
          Names{"workspace:///n/1100", "workspace:///n/1101", "workspace:///n/1102"});
    CHECK(second.next.empty());
    CHECK(error_of([&] { (void)resources.list("made up", {}); }) == ErrorCode::invalid_argument);
}

TEST_CASE_FIXTURE(Fixture, "a file is read as text or bytes, with its type")
{
    save("a/x.md", "# \xc3\xa4");
    save("raw", std::string_view("\xff\xfe", 2));
    save("zero", std::string_view("a\0b", 3));
    save("empty", "");
    const auto text = resources.read("workspace:///a/x.md", {}, hold);
    CHECK(text.bytes == "# \xc3\xa4");
    CHECK(text.is_text);
    CHECK(text.mime_type == "text/markdown");
    CHECK(resources.read("workspace://a//x.md", {}, hold).bytes == text.bytes);
    CHECK_FALSE(resources.read("workspace:///raw", {}, hold).is_text);
    CHECK(resources.read("workspace:///raw", {}, hold).mime_type == "application/octet-stream");
    CHECK_FALSE(resources.read("workspace:///zero", {}, hold).is_text);
    CHECK(resources.read("workspace:///empty", {}, hold).is_text);
    save("colours", std::string(100, 'x') + "\x1b[0m");
    CHECK(resources.read("workspace:///colours", {}, hold).is_text);
    for (const char control : {'\x01', '\x7f'}) { // as text it would be six times as large
        save("control", std::string(100, control));
        CHECK_FALSE(resources.read("workspace:///control", {}, hold).is_text);
    }
    CHECK(resources.read("berth://session", {}, hold).bytes == "{\"facts\":1}");
}

TEST_CASE_FIXTURE(Fixture, "nothing is read of a file that there is no room for")
{
    save("a", std::string(1000, 'a'));
    (void)resources.read("workspace:///a", {}, hold);
    CHECK(held == 1000);
    const OwnResources::Hold full = [](std::size_t) {
        throw Error(ErrorCode::busy, "there is no room");
    };
    CHECK(error_of([&] { (void)resources.read("workspace:///a", {}, full); }) == ErrorCode::busy);
}

TEST_CASE_FIXTURE(Fixture, "what is no file, too large, or outside is refused")
{
    save("d/x", "x");
    save("large", std::string(OwnResources::most_bytes + 1, 'x'));
    save("just", std::string(OwnResources::most_bytes, 'x'));
    save("theirs", "x", "bob");
    const auto error = [&](const std::string& uri) {
        return error_of([&] { (void)resources.read(uri, {}, hold); });
    };
    CHECK(error("workspace:///none") == ErrorCode::not_found);
    CHECK(error("workspace:///theirs") == ErrorCode::not_found);
    CHECK(error("workspace:///d") == ErrorCode::is_directory);
    CHECK(error("workspace:///large") == ErrorCode::too_large);
    CHECK_FALSE(error("workspace:///just"));
    CHECK(error("workspace:///../ann/d/x") == ErrorCode::invalid_path);
    CHECK(error("workspace:///d/%2e%2e/d/x") == ErrorCode::invalid_path);
    CHECK(error("workspace:///") == ErrorCode::invalid_path);
    CHECK(error("file:///etc/passwd") == ErrorCode::not_found);
    CHECK(error("berth://other") == ErrorCode::not_found);
}

TEST_CASE_FIXTURE(Fixture, "a path is completed as it was begun")
{
    for (const auto* path : {"rep/a.txt", "rep/b.txt", "rep/sub/c", "report", "zz"}) {
        save(path, "x");
    }
    const auto values = [&](const std::string& value) {
        return resources.complete("workspace:///{+path}", "path", value)->values;
    };
    CHECK(values("rep") == Names{"rep/a.txt", "rep/b.txt", "rep/sub/c", "report"});
    CHECK(values("rep/") == Names{"rep/a.txt", "rep/b.txt", "rep/sub/c"});
    CHECK(values("/rep/b") == Names{"/rep/b.txt"});
    CHECK(values("report") == Names{"report"});
    CHECK(values("") == Names{"rep/a.txt", "rep/b.txt", "rep/sub/c", "report", "zz"});
    CHECK(values("nothing").empty());
    CHECK_FALSE(resources.complete("workspace:///{+path}", "other", ""));
    CHECK_FALSE(resources.complete("x:///{path}", "path", ""));
}

TEST_CASE("without a principal, or its tools, there is only what is left")
{
    const Fixture fixture;
    OwnResources nobody({.workspace = fixture.store.get(),
                         .principal = "",
                         .session = [](const std::stop_token&) { return "{}"; }});
    CHECK(nobody.list("", {}).resources.size() == 1);
    CHECK(nobody.templates().empty());
    CHECK(error_of([&] { (void)nobody.read("workspace:///a", {}, fixture.hold); }) ==
          ErrorCode::not_found);
    CHECK_FALSE(nobody.complete("workspace:///{+path}", "path", ""));
    OwnResources files({.workspace = fixture.store.get(), .principal = "ann", .session = {}});
    CHECK(files.list("", {}).resources.empty());
    CHECK(error_of([&] { (void)files.read("berth://session", {}, fixture.hold); }) ==
          ErrorCode::not_found);
    CHECK(OwnResources::Sources{}.are_none());
}

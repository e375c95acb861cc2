#include "sandbox/guest/files/patch_text.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <array>
#include <string>

#include <sys/xattr.h>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;

namespace {

protocol::PatchFilesReply patch(const Machine& machine, const std::string& body)
{
    protocol::PatchFilesRequest request;
    request.patch = "*** Begin Patch\n" + body + "*** End Patch\n";
    request.diff_budget = 100'000;
    return patch_files(request, machine.context);
}

Error patch_error(const Machine& machine, const std::string& body)
{
    return error_of([&] { (void)patch(machine, body); });
}

bool says(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

const std::string mark = "\xef\xbb\xbf";

} // namespace

TEST_CASE("of two places that differ in their line ends alone none is taken without a line above")
{
    const Machine machine;
    machine.put("f", "f\r\na\r\ng\na\n");
    CHECK(patch_error(machine, "*** Update File: f\n@@\n-a\n+b\n").code() ==
          ErrorCode::ambiguous_match);
    CHECK(machine.get("f") == "f\r\na\r\ng\na\n");
}

TEST_CASE("a file that is moved keeps its attributes, and no difference is shown of it")
{
    const Machine machine;
    const std::string binary("\0\1", 2);
    machine.put("old", binary, 0640);
    const auto path = [&](const std::string& name) { return machine.home + "/" + name; };
    REQUIRE(::setxattr(path("old").c_str(), "user.k", "v", 1, 0) == 0);
    const auto reply = patch(machine, "*** Update File: old\n*** Move to: new\n");
    CHECK(reply.diff.empty());
    CHECK(machine.get("new") == binary);
    std::array<char, 4> value{};
    CHECK(::getxattr(path("new").c_str(), "user.k", value.data(), value.size()) == 1);
}

TEST_CASE("a first line behind a byte order mark is a place like any other")
{
    const Machine machine;
    machine.put("f", mark + "a\na\n");
    const auto several = patch_error(machine, "*** Update File: f\n-a\n+b\n");
    CHECK(several.code() == ErrorCode::ambiguous_match);
    CHECK(several.details().at("lines") == "1, 2");
    machine.put("f", mark + "a\nx\na\nx\n");
    (void)patch(machine, "*** Update File: f\n@@ a\n-x\n+y\n");
    CHECK(machine.get("f") == mark + "a\ny\na\nx\n");
    // What is exactly so goes before what is not, on whichever of both lines it is.
    machine.put("f", mark + "a \na\n");
    (void)patch(machine, "*** Update File: f\n-a\n+b\n");
    CHECK(machine.get("f") == mark + "a \nb\n");
    machine.put("f", mark + "a\na \n");
    (void)patch(machine, "*** Update File: f\n-a\n+b\n");
    CHECK(machine.get("f") == mark + "b\na \n");
    machine.put("f", mark + "a\nb\n");
    (void)patch(machine, "*** Update File: f\n-a\n");
    CHECK(machine.get("f") == mark + "b\n");
}

TEST_CASE("what a patch is wrapped in does not count")
{
    const std::string text = "*** Begin Patch\n*** Add File: f\n+a\n*** End Patch\n";
    for (const auto& [above, below] :
         std::vector<std::pair<std::string, std::string>>{{"apply_patch <<'EOF'", "EOF"},
                                                          {"apply_patch << \"EOF\"", "EOF"},
                                                          {"<<EOF", "EOF"},
                                                          {"<<-'PATCH'", "PATCH"},
                                                          {"```", "```"},
                                                          {"```diff", "```"},
                                                          {"\n  <<'EOF'", ""}}) {
        CAPTURE(above);
        const auto entries = parse_patch(above + '\n' + text + below + '\n');
        REQUIRE(entries.size() == 1);
        CHECK(entries[0].content == "a\n");
        CHECK(entries[0].line == 3 + (above[0] == '\n' ? 1U : 0U));
    }
    for (const std::string& refused :
         {"<<\n" + text, "EOF\n" + text, text + "EOF\n", "<<'EOF'\n" + text + "EOF\nEOF\n",
          "<<'EOF'\n" + text + "END\n", std::string("<<EOF"), std::string("```\n"),
          "apply_patch\n" + text, "<<A\n<<B\n" + text}) {
        CAPTURE(refused);
        CHECK(error_of([&] { (void)parse_patch(refused); }).code() == ErrorCode::invalid_argument);
    }
}

TEST_CASE("empty lines between those of an added file are its own, those around them are not")
{
    const Machine machine;
    (void)patch(machine, "*** Add File: f\n\n+a\n\n \n+b\n\n*** Add File: g\n\n");
    CHECK(machine.get("f") == "a\n\n\nb\n");
    CHECK(machine.get("g").empty());
    machine.put("h", "a\n");
    (void)patch(machine, "*** Update File: h\n\n@@\n-a\n+b\n");
    CHECK(machine.get("h") == "b\n");
}

TEST_CASE("what is there, but above, is not told as being near")
{
    const Machine machine;
    machine.put("f", "a\nc\n");
    const auto order = patch_error(machine, "*** Update File: f\n-c\n+d\n@@\n-a\n+b\n");
    CHECK(order.code() == ErrorCode::text_not_found);
    CHECK(says(order.hint(), "it is on line 1, above the hunk or the @@ line before"));
    CHECK_FALSE(says(order.hint(), "nearest"));
    CHECK(order.details().at("lines") == "1");
    const auto end = patch_error(machine, "*** Update File: f\n-a\n+b\n*** End of File\n");
    CHECK(says(end.hint(), "it is on line 1, which is not the file's end"));
    const auto header = patch_error(machine, "*** Update File: f\n-c\n+d\n@@ a\n+b\n");
    CHECK(says(header.what(), "the line behind @@ of hunk 2 (line 5 of patch)"));
    CHECK(says(header.hint(), "it is on line 1, above"));
}

TEST_CASE("places of different length do not overlap each other for being shorter than the hunk")
{
    const Machine machine;
    machine.put("f", "\tx\n\tx\n");
    const auto several = patch_error(machine, "*** Update File: f\n-        x\n+y\n");
    CHECK(says(several.what(), "occurs 2 times in "));
}

TEST_CASE("an update that changes nothing is refused, and with it the patch")
{
    const Machine machine;
    machine.put("f", "a\n");
    machine.put("g", "a\n");
    const std::string other = "*** Update File: g\n-a\n+b\n";
    const auto none = patch_error(machine, other + "*** Update File: f\n-a \n+a\n");
    CHECK(none.code() == ErrorCode::invalid_argument);
    CHECK(says(none.what(), "line 5 of patch: " + machine.home + "/f has already"));
    CHECK(machine.get("g") == "a\n");
    // One hunk of several may.
    machine.put("f", "a\nb\n");
    (void)patch(machine, "*** Update File: f\n-a \n+a\n@@\n-b\n+c\n");
    CHECK(machine.get("f") == "a\nc\n");
}

TEST_CASE("a patch that is empty, or moves a file to itself, is told as that")
{
    const Machine machine;
    machine.put("f", "a\n");
    const auto self = patch_error(machine, "*** Update File: f\n*** Move to: ./f\n-a\n+b\n");
    CHECK(self.code() == ErrorCode::invalid_argument);
    CHECK(says(self.what(), "line 2 of patch: ./f would be moved to itself"));
    for (const char* text : {"", " ", "\n\n"}) {
        const auto empty = error_of([&] { (void)parse_patch(text); });
        CHECK(empty.code() == ErrorCode::invalid_argument);
        CHECK(std::string(empty.what()) == "patch is empty");
    }
}

TEST_CASE("old bytes that are no text are not put into the diff of a patch")
{
    const Machine machine;
    machine.put("f", std::string("a\0\nb\n", 5));
    const auto reply = patch(machine, "*** Update File: f\n-a" + std::string(1, '\0') + "\n+c\n");
    CHECK(machine.get("f") == "c\nb\n");
    CHECK(reply.diff.starts_with("Binary files "));
}

TEST_CASE("a binary file that has already what its hunks make is refused as others are")
{
    const Machine machine;
    const std::string nul(1, '\0');
    machine.put("f", "a" + nul + "\nb\n");
    const auto same = patch_error(machine, "*** Update File: f\n-b \n+b\n");
    CHECK(same.code() == ErrorCode::invalid_argument);
    CHECK(says(same.what(), "line 2 of patch: " + machine.home + "/f has already what"));
    const auto swapped = patch(machine, "*** Update File: f\n-a" + nul + "\n+b" + nul + "\n");
    CHECK(machine.get("f") == "b" + nul + "\nb\n"); // of the same size
    CHECK(swapped.diff.starts_with("Binary files "));
}

TEST_CASE("a file that is to be a folder too is refused before anything is written")
{
    struct Case {
        const char* body;
        const char* what;
    };

    const Case cases[] = {
        {"*** Add File: m1\n+a\n*** Add File: m1/z\n+b\n",
         "line 4 of patch: m1/z would be in m1, which is a file in line 2"},
        {"*** Add File: ./m1/y/z\n+b\n*** Add File: m1\n+a\n",
         "line 2 of patch: ./m1/y/z would be in m1, which is a file in line 4"},
        {"*** Update File: f\n*** Move to: m1\n-f\n+g\n*** Add File: m1/z\n+b\n",
         "line 6 of patch: m1/z would be in m1, which is a file in line 2"},
    };
    for (const auto& one : cases) {
        CAPTURE(one.body);
        const Machine machine;
        machine.put("f", "f\n");
        const auto error = patch_error(machine, one.body);
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_FALSE(error.retryable());
        CHECK(std::string(error.what()) == one.what);
        CHECK(machine.count() == 1);
        CHECK(machine.get("f") == "f\n");
    }
    const Machine machine; // a name that only begins alike is no folder
    (void)patch(machine, "*** Add File: m\n+a\n*** Add File: m1/z\n+b\n");
    CHECK(machine.get("m1/z") == "b\n");
}

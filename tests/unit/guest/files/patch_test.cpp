#include "sandbox/guest/files/patch_text.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <algorithm>
#include <random>
#include <vector>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using protocol::PatchAction;

namespace {

protocol::PatchFilesRequest request_for(const std::string& body)
{
    protocol::PatchFilesRequest request;
    request.patch = "*** Begin Patch\n" + body + "*** End Patch\n";
    request.diff_budget = 100'000;
    return request;
}

protocol::PatchFilesReply patch(const Machine& machine, const std::string& body)
{
    return patch_files(request_for(body), machine.context);
}

Error patch_error(const Machine& machine, const std::string& body)
{
    return error_of([&] { (void)patch(machine, body); });
}

Error parse_error(const std::string& text)
{
    return error_of([&] { (void)parse_patch(text); });
}

} // namespace

TEST_CASE("a patch adds, updates, moves and deletes files, and says what became of each")
{
    const Machine machine;
    machine.put("a.c", "int a;\nint b;\nint c;\n", 0755);
    machine.put("old.txt", "one\ntwo\n", 0640);
    machine.put("gone", "x\n");
    const auto reply =
        patch(machine, "*** Update File: a.c\n@@\n int a;\n-int b;\n+int B;\n int c;\n"
                       "*** Add File: d/e/new\n+first\n+\n+third\n"
                       "*** Update File: old.txt\n*** Move to: d/moved.txt\n one\n-two\n+2\n"
                       "*** Delete File: gone\n");
    CHECK(machine.get("a.c") == "int a;\nint B;\nint c;\n");
    CHECK((machine.status("a.c").st_mode & 0777U) == 0755);
    CHECK(machine.get("d/e/new") == "first\n\nthird\n");
    CHECK(machine.get("d/moved.txt") == "one\n2\n");
    CHECK((machine.status("d/moved.txt").st_mode & 0777U) == 0640);
    CHECK_FALSE(machine.exists("old.txt"));
    CHECK_FALSE(machine.exists("gone"));
    REQUIRE(reply.files.size() == 4);
    CHECK(reply.files[0].action == PatchAction::update);
    CHECK(reply.files[1].action == PatchAction::add);
    CHECK(reply.files[2].action == PatchAction::move);
    CHECK(reply.files[2].moved_to == machine.home + "/d/moved.txt");
    CHECK(reply.files[3].action == PatchAction::remove);
    CHECK(reply.files[0].sha256.size() == 64);
    CHECK(reply.diff.find("-int b;\n+int B;\n") != std::string::npos);
    CHECK(reply.diff.find("--- /dev/null\n") != std::string::npos);
    CHECK(machine.count() == 2); // a.c and d: nothing of ours is left
}

TEST_CASE("a dry run says the same and changes nothing")
{
    const Machine machine;
    machine.put("a", "one\n");
    auto asked = request_for("*** Update File: a\n-one\n+two\n*** Add File: x/b\n+b\n");
    asked.dry_run = true;
    const auto dry = patch_files(asked, machine.context);
    CHECK(machine.get("a") == "one\n");
    CHECK_FALSE(machine.exists("x"));
    asked.dry_run = false;
    const auto real = patch_files(asked, machine.context);
    CHECK(dry.diff == real.diff);
    REQUIRE(dry.files.size() == 2);
    CHECK(dry.files[0].sha256 == real.files[0].sha256);
    CHECK(dry.files[1].sha256 == real.files[1].sha256);
}

TEST_CASE("where a hunk belongs")
{
    struct Case {
        const char* before;
        const char* hunks;
        const char* after;
    };

    const Case cases[] = {
        // behind its header, which may be indented or a part of its line
        {"def a():\n    x\n    y\ndef b():\n    x\n    y\n",
         "@@ def b():\n     x\n-    y\n+    z\n",
         "def a():\n    x\n    y\ndef b():\n    x\n    z\n"},
        {"class A:\n  def f(self):\n    1\nclass B:\n  def f(self):\n    1\n",
         "@@ class B:\n@@ def f(self):\n-    1\n+    2\n",
         "class A:\n  def f(self):\n    1\nclass B:\n  def f(self):\n    2\n"},
        {"int f(int a, int b)\n{\n  1;\n}\n", "@@ int f(\n {\n-  1;\n+  2;\n",
         "int f(int a, int b)\n{\n  2;\n}\n"},
        // behind the hunk before it
        {"a\nb\na\nb\n", " a\n-b\n+c\n a\n@@\n-b\n+d\n", "a\nc\na\nd\n"},
        // only whole lines
        {"xab\nab\nabx\n", "-ab\n+cd\n", "xab\ncd\nabx\n"},
        // at the end
        {"a\nb\na\n", "-a\n+c\n*** End of File\n", "a\nb\nc\n"},
        {"\xef\xbb\xbf", "+x\n", "\xef\xbb\xbfx\n"},
        // what only adds: below its header, or at the end
        {"a\nb\n", "@@ a\n+x\n", "a\nx\nb\n"},
        {"a\nb\n", "+x\n", "a\nb\nx\n"},
        {"a\nb", "+x\n", "a\nb\nx"},
        {"", "+x\n", "x\n"},
        // line numbers are no text
        {"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc\n"},
        {"f\na\nb\na\nb\n", "@@ -4,2 +4,2 @@ f\n a\n-b\n+c\n", "f\na\nc\na\nb\n"},
        // an empty line is one that stays
        {"a\n\nb\n", " a\n\n-b\n+c\n", "a\n\nc\n"},
        {"a\nb\n", "-a\n+c\n b\n\n", "c\nb\n"},
        // the file's own line ends, mark and end
        {"a\r\nb\r\n", " a\n-b\n+c\n+d\n", "a\r\nc\r\nd\r\n"},
        {"a\r\n", "+b\n", "a\r\nb\r\n"},
        // of a file with both ends those of the line in front
        {"a\nb\r\nc\n", "@@ b\n+x\n+y\n@@ c\n+z\n", "a\nb\r\nx\r\ny\r\nc\nz\n"},
        {"a\nb\r\n", "+x\n", "a\nb\r\nx\r\n"},
        {"a\r\nb\n", "@@\n+x\n*** End of File\n", "a\r\nb\nx\n"},
        {"\xef\xbb\xbf"
         "a\nb\n",
         "-a\n+c\n b\n",
         "\xef\xbb\xbf"
         "c\nb\n"},
        {"a\nb", " a\n-b\n+c\n", "a\nc"},
        {"a\nb", "-b\n", "a"},
        {"a\r\nb", "-b\n", "a"},
        {"b", "-b\n", ""},
        {"a\nb", " a\n b\n+c\n", "a\nb\nc"},
        {"a\nb", "-a\n b\n+a\n", "b\na"},
        {"a\r\nb", " a\n b\n+c\n", "a\r\nb\r\nc"},
        // an empty last line is none without its newline
        {"a\n\nb", " a\n \n-b\n", "a\n\n"},
        {"a\r\n\r\nb", " a\n \n-b\n", "a\r\n\r\n"},
        {"a\n\nb", "-b\n", "a\n\n"},
        {"\nb", "-b\n", "\n"},
        {"a", "+\n", "a\n\n"},
        // how the lines of a place end is no reason to take another one
        {"f\r\na\r\ng\na\n", "@@ f\n-a\n+b\n", "f\r\nb\r\ng\na\n"},
        // empty lines before the next mark are none of the file's
        {"a\nb\n\nc\n", "@@ a\n+x\n\n", "a\nx\nb\n\nc\n"},
        {"a\nb\n", "-a\n\n\n@@\n-b\n+c\n\n", "c\n"},
        // what it looks through
        {"if a:\n\tb  \n\tc\n", " if a:\n     b\n-    c\n+    d\n", "if a:\n\tb  \n\td\n"},
        {"say \xe2\x80\x9chi\xe2\x80\x9d\nx\n", " say \"hi\"\n-x\n+y\n",
         "say \xe2\x80\x9chi\xe2\x80\x9d\ny\n"},
        // an exact place before one that is alike
        {"\tx\n    x\n", "-    x\n+    y\n", "\tx\n    y\n"},
    };
    for (const auto& one : cases) {
        CAPTURE(one.before);
        CAPTURE(one.hunks);
        const Machine machine;
        machine.put("f", one.before);
        (void)patch(machine, std::string("*** Update File: f\n") + one.hunks);
        CHECK(machine.get("f") == one.after);
    }
}

TEST_CASE("a hunk without a place, or with several, changes nothing and says where to look")
{
    const Machine machine;
    machine.put("f", "a\nb\nc\na\nb\n");
    const auto several = patch_error(machine, "*** Update File: f\n a\n-b\n+x\n");
    CHECK(several.code() == ErrorCode::ambiguous_match);
    CHECK(std::string(several.what()).find("hunk 1 (line 3 of patch)") != std::string::npos);
    CHECK(several.details().at("lines") == "1, 4");
    machine.put("g", "one\nreturn alpha;\n");
    const auto none = patch_error(machine, "*** Update File: g\n one\n-return  alpha;\n+x\n");
    CHECK(none.code() == ErrorCode::text_not_found);
    CHECK(none.hint().find("nearest: line 1") != std::string::npos);
    CHECK(none.hint().find("line 2 differs in the number of blanks") != std::string::npos);
    const auto order =
        patch_error(machine, "*** Update File: f\n-c\n+C\n@@\n a\n-b\n+x\n@@\n-C\n+d\n");
    CHECK(order.code() == ErrorCode::text_not_found);
    CHECK(order.hint().find("hunks come in the order of the file") != std::string::npos);
    CHECK(patch_error(machine, "*** Update File: f\n@@ nowhere\n-c\n+d\n").code() ==
          ErrorCode::text_not_found);
    CHECK(patch_error(machine, "*** Update File: f\n-c\n+d\n*** End of File\n").code() ==
          ErrorCode::text_not_found);
    CHECK(machine.get("f") == "a\nb\nc\na\nb\n");
}

TEST_CASE("all files or none: whatever is refused, nothing was changed")
{
    struct Case {
        ErrorCode code;
        const char* last;
    };

    const Case cases[] = {
        {ErrorCode::not_found, "*** Update File: none\n-a\n+b\n"},
        {ErrorCode::not_found, "*** Delete File: none\n"},
        {ErrorCode::text_not_found, "*** Update File: f\n-none\n+b\n"},
        {ErrorCode::conflict, "*** Add File: f\n+x\n"},
        {ErrorCode::conflict, "*** Update File: f\n*** Move to: taken\n-f\n+g\n"},
        {ErrorCode::is_directory, "*** Delete File: dir\n"},
        {ErrorCode::unsupported, "*** Delete File: link\n"},
        {ErrorCode::unsupported, "*** Update File: link\n*** Move to: x\n-f\n+g\n"},
        {ErrorCode::unsupported, "*** Update File: wide\n-f\n+g\n"},
        {ErrorCode::permission_denied, "*** Update File: kept\n-f\n+g\n"},
        {ErrorCode::permission_denied, "*** Delete File: kept\n"},
        {ErrorCode::invalid_path, "*** Add File: ../outside\n+x\n"},
        {ErrorCode::invalid_argument, "*** Delete File: first\n"},
        {ErrorCode::invalid_argument, "*** Update File: hard\n-one\n+two\n"},
        {ErrorCode::invalid_argument, "*** Update File: f\n*** Move to: ./first\n-f\n+g\n"},
        {ErrorCode::invalid_argument, "*** Add File: new/x\n+x\n"},
    };
    for (const auto& one : cases) {
        CAPTURE(one.last);
        const Machine machine;
        machine.put("first", "one\n");
        machine.put("f", "f\n");
        machine.put("taken", "t\n");
        machine.put("kept", "f\n", 0444);
        machine.put("wide", std::string("\xff\xfe"
                                        "f\0",
                                        4));
        machine.link("f", "link");
        REQUIRE(::mkdir((machine.home + "/dir").c_str(), 0755) == 0);
        REQUIRE(::link((machine.home + "/first").c_str(), (machine.home + "/hard").c_str()) == 0);
        const auto error = patch_error(machine, "*** Update File: first\n-one\n+two\n"
                                                "*** Add File: new/x\n+x\n" +
                                                    std::string(one.last));
        CHECK(error.code() == one.code);
        CHECK(machine.get("first") == "one\n");
        CHECK(machine.get("f") == "f\n");
        CHECK(machine.get("kept") == "f\n");
        CHECK_FALSE(machine.exists("new"));
        CHECK(machine.count() == 8);
    }
}

TEST_CASE("what was put in place already is put back when a later file fails")
{
    if (::geteuid() != 0) {
        MESSAGE("only root can make a file that another user may write and not delete");
        return;
    }
    const Machine machine;
    const auto own = [&](const std::string& name) {
        REQUIRE(::chown((machine.home + "/" + name).c_str(), 65534, 65534) == 0);
    };
    REQUIRE(::chmod(machine.base.c_str(), 0755) == 0);
    own("");
    machine.put("updated", "one\n", 0750);
    machine.put("hard", "h\n");
    machine.put("moved", "m\n", 0640);
    machine.put("gone", "g\n", 0600);
    for (const char* name : {"updated", "hard", "moved", "gone"}) {
        own(name);
    }
    REQUIRE(::link((machine.home + "/hard").c_str(), (machine.home + "/hard2").c_str()) == 0);
    // In a sticky folder a file is its owner's to delete, whoever may write it.
    REQUIRE(::mkdir((machine.home + "/sticky").c_str(), 0) == 0);
    REQUIRE(::chmod((machine.home + "/sticky").c_str(), 01777) == 0);
    machine.put("sticky/f", "s\n", 0666);
    const auto word = as_nobody([&] {
        (void)patch(machine, "*** Update File: updated\n-one\n+two\n"
                             "*** Update File: hard\n-h\n+H\n"
                             "*** Add File: new/file\n+x\n"
                             "*** Update File: moved\n*** Move to: there\n-m\n+n\n"
                             "*** Delete File: gone\n"
                             "*** Delete File: sticky/f\n");
    });
    CHECK(word == "permission_denied");
    CHECK(machine.get("updated") == "one\n");
    CHECK((machine.status("updated").st_mode & 0777U) == 0750);
    CHECK(machine.get("hard2") == "h\n");
    CHECK(machine.status("hard").st_nlink == 2);
    CHECK(machine.get("moved") == "m\n");
    CHECK((machine.status("moved").st_mode & 0777U) == 0640);
    CHECK(machine.get("gone") == "g\n");
    CHECK((machine.status("gone").st_mode & 0777U) == 0600);
    CHECK_FALSE(machine.exists("new"));
    CHECK_FALSE(machine.exists("there"));
    CHECK(machine.count() == 6);
}

TEST_CASE("what is put back is the very file, and no room is needed for it")
{
    // A folder of whose files nobody may be taken away: the last step of the patch fails.
    const auto word = as_nobody([&] {
        const Machine own;
        own.put("updated", "one\n");
        own.put("moved", "m\n");
        own.put("gone", "g\n");
        const auto updated = own.status("updated").st_ino;
        const auto gone = own.status("gone").st_ino;
        REQUIRE(::mkdir((own.home + "/closed").c_str(), 0755) == 0);
        own.put("closed/f", "f\n");
        REQUIRE(::chmod((own.home + "/closed").c_str(), 0555) == 0);
        try {
            (void)patch(own, "*** Update File: updated\n-one\n+two\n*** Delete File: gone\n"
                             "*** Update File: moved\n*** Move to: there\n-m\n+n\n"
                             "*** Add File: new\n+x\n*** Delete File: closed/f\n");
        } catch (const Error& error) {
            const bool told = std::string(error.what()).ends_with("; no file was changed");
            const bool same = own.get("updated") == "one\n" && own.get("gone") == "g\n" &&
                              own.get("moved") == "m\n" &&
                              own.status("updated").st_ino == updated &&
                              own.status("gone").st_ino == gone && own.count() == 4;
            REQUIRE(::chmod((own.home + "/closed").c_str(), 0755) == 0);
            throw Error(same && told ? error.code() : ErrorCode::internal, error.what(), "");
        }
    });
    CHECK(word == "permission_denied");
}

TEST_CASE(
    "a carriage return at the end of a file without a newline is a sign, and no half line end")
{
    const Machine machine;
    machine.put("f", "a\r");
    CHECK(patch_error(machine, "*** Update File: f\n-a\n+b\n").code() == ErrorCode::text_not_found);
    (void)patch(machine, "*** Update File: f\n-a\r\r\r\n+b\n");
    CHECK(machine.get("f") == "b");
}

TEST_CASE("places that would fill the memory are refused")
{
    const Machine machine;
    std::string row(1000, 'x');
    row += '\n';
    std::string many;
    std::string hunk;
    for (int i = 0; i < 500; ++i) {
        many += row;
        hunk += i < 200 ? "-" + row : "";
    }
    machine.put("f", many);
    CHECK(patch_error(machine, "*** Update File: f\n" + hunk + "+y\n").code() ==
          ErrorCode::too_large);
}

TEST_CASE("the diff of a patch keeps to its budget, whatever the files are")
{
    const Machine machine;
    std::string body;
    for (int i = 0; i < 20; ++i) {
        const std::string name = "binary" + std::to_string(i);
        machine.put(name, std::string("a\0b\nc\n", 6));
        body += "*** Update File: " + name + "\n-c\n+d\n";
    }
    machine.put("text", std::string(100'000, 'x') + "\none\n");
    auto asked = request_for(body + "*** Update File: text\n-one\n+two\n");
    asked.diff_budget = 500;
    const auto reply = patch_files(asked, machine.context);
    CHECK(reply.diff_truncated);
    CHECK(reply.diff.size() < 1000);
}

TEST_CASE("a patch that cannot be read says which line, and how it should be")
{
    struct Case {
        const char* text;
        const char* what;
    };

    const Case cases[] = {
        {"", "patch is empty"},
        {"hello\n", "line 1 of patch: it does not begin with \"*** Begin Patch\""},
        {"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "it is a unified diff"},
        {"*** Begin Patch\n*** End Patch\n", "names no file"},
        {"*** Begin Patch\n*** Update File: f\n-a\n+b\n", "\"*** End Patch\" is missing"},
        {"*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch\nmore\n",
         "line 6 of patch: there is more"},
        {"*** Begin Patch\nint a;\n*** End Patch\n",
         "line 2 of patch: \"int a;\" does not begin a"},
        {"*** Begin Patch\n*** Update File:\n-a\n+b\n*** End Patch\n", "no path behind"},
        {"*** Begin Patch\n*** Update File: f\n*** End Patch\n", "has no hunk"},
        {"*** Begin Patch\n*** Update File: f\n@@ a\n*** End Patch\n", "has no lines"},
        {"*** Begin Patch\n*** Update File: f\n a\n*** End Patch\n", "changes nothing"},
        {"*** Begin Patch\n*** Update File: f\nint a;\n*** End Patch\n",
         "line 3 of patch: \"int a;\" in a hunk begins with no mark"},
        {"*** Begin Patch\n*** Add File: f\nint a;\n*** End Patch\n", "does not begin with +"},
        {"*** Begin Patch\n*** Update File: f\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n"
         "@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n@@ a\n-a\n+b\n"
         "*** End Patch\n",
         "more than 20 @@ lines"},
        {"*** Begin Patch\n*** Rename File: f\n*** End Patch\n", "does not begin a file"},
    };
    for (const auto& one : cases) {
        CAPTURE(one.text);
        const auto error = parse_error(one.text);
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK(std::string(error.what()).find(one.what) != std::string::npos);
    }
    std::string many = "*** Begin Patch\n";
    for (std::size_t i = 0; i <= most_patched_files; ++i) {
        many += "*** Delete File: f" + std::to_string(i) + "\n";
    }
    CHECK(std::string(parse_error(many + "*** End Patch\n").what()).find("more than 100 files") !=
          std::string::npos);
    std::string hunks = "*** Begin Patch\n*** Update File: f\n";
    for (std::size_t i = 0; i <= most_hunks; ++i) {
        hunks += "@@\n-a\n+b\n";
    }
    CHECK(std::string(parse_error(hunks + "*** End Patch\n").what()).find("more than 1000 hunks") !=
          std::string::npos);
}

TEST_CASE("the line ends of the patch are not those of the files")
{
    const Machine machine;
    machine.put("f", "a\nb\n");
    auto asked = request_for("*** Update File: f\r\n a\r\n-b\r\n+c\r\n*** Add File: g\r\n+x\r\n");
    (void)patch_files(asked, machine.context);
    CHECK(machine.get("f") == "a\nc\n");
    CHECK(machine.get("g") == "x\n");
}

TEST_CASE("property: a patch made of any changes makes them, and its reverse undoes them")
{
    std::mt19937 random(20261123); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same cases each time
    for (int round = 0; round < 200; ++round) {
        CAPTURE(round);
        std::string before;
        std::string after;
        std::string forth = "*** Update File: f\n";
        std::string back = "*** Update File: f\n";
        const std::size_t lines = 5 + random() % 40;
        bool near = false; // the hunk goes on
        bool changed = false;
        for (std::size_t i = 0; i < lines; ++i) {
            const std::string line = "l" + std::to_string(i) + "\n";
            const auto what = random() % 6;
            if (what > 2) {
                before += line;
                after += line;
                // One line of context before a change, where there was none.
                near = false;
                continue;
            }
            if (!near) {
                forth += "@@\n";
                back += "@@\n";
                const bool first = before.empty() || after.empty();
                const auto last_line = [](const std::string& text) {
                    return text.substr(text.rfind('\n', text.size() - 2) + 1);
                };
                if (!first && last_line(before) == last_line(after)) {
                    forth += " " + last_line(before);
                    back += " " + last_line(before);
                }
            }
            near = changed = true;
            const std::string other = "n" + std::to_string(i) + "\n";
            if (what != 0) { // 0: a line that comes
                before += line;
                forth += "-" + line;
                back += "+" + line;
            }
            if (what != 1) { // 1: a line that goes
                after += other;
                forth += "+" + other;
                back += "-" + other;
            }
        }
        // What only adds, without context, would go to the end: not what is tested here.
        if (!changed || forth.find("@@\n+") != std::string::npos ||
            back.find("@@\n+") != std::string::npos) {
            continue;
        }
        const Machine machine;
        machine.put("f", before);
        (void)patch(machine, forth);
        REQUIRE(machine.get("f") == after);
        (void)patch(machine, back);
        REQUIRE(machine.get("f") == before);
    }
}

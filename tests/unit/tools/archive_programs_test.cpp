#include "sandbox/direct/direct_backend.hpp"
#include "tests/unit/temporary_directory.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// What read_file makes of archives and PDFs with each program that it may find, and without any. A
// host has one set of programs, so here a machine's PATH has a few links alone.

namespace berth::tools::test {
namespace {

using nlohmann::json;

/// The direct backend with a PATH of its own.
class WithPath final : public sandbox::Backend {
  public:
    WithPath(std::unique_ptr<sandbox::Backend> inner, std::string path)
        : inner_(std::move(inner)), path_(std::move(path))
    {
    }

    [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }

    [[nodiscard]] sandbox::Availability availability() override { return inner_->availability(); }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    create(const sandbox::MachineSpec& spec) override
    {
        auto with_path = spec;
        with_path.environment["PATH"] = path_;
        return inner_->create(with_path);
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    attach(const sandbox::MachineRecord& record) override
    {
        return inner_->attach(record);
    }

    void destroy(const sandbox::MachineRecord& record, bool purge) override
    {
        inner_->destroy(record, purge);
    }

    [[nodiscard]] std::string description() const override { return inner_->description(); }

  private:
    std::unique_ptr<sandbox::Backend> inner_;
    std::string path_;
};

class Session {
  public:
    Session()
    {
        std::filesystem::create_directories(bin_);
        for (const char* const needed : {"bash", "cat", "head", "sed", "tail", "tr"}) {
            link(needed);
        }
        session::Settings manager;
        manager.state_directory = directory_ / "state";
        manager_ = std::make_unique<session::SessionManager>(
            manager, std::make_unique<WithPath>(
                         direct::make_backend(BERTH_GUEST, directory_ / "machines"), bin_));
        store_ = workspace::make_directory_store(directory_ / "workspace");
        const auto home = run("bash_exec", {{"command", "pwd"}}).text;
        programs_ = home.substr(0, home.find('\n')) + "/.local/bin/";
        std::filesystem::create_directories(programs_);
    }

    ~Session()
    {
        manager_->kill(id_, true);
        manager_->close();
    }

    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Result run(const char* tool, const json& arguments)
    {
        const Settings settings;
        Context context{*manager_, *store_, settings, id_, false, {}, {}};
        return run_tool(*find_tool(tool), context, arguments);
    }

    void command(const std::string& text)
    {
        const auto result = run("bash_exec", {{"command", text}, {"workdir", "~"}});
        REQUIRE_MESSAGE(result.data->at("exit_code") == 0, result.text);
    }

    /// The host's own program, by its name.
    void link(const std::string& name) const
    {
        std::filesystem::create_symlink("/usr/bin/" + name, bin_ + "/" + name);
    }

    /// A program of this name that obeys these arguments alone and then runs `body`.
    void stand_in(const std::string& name, const std::string& arguments,
                  const std::string& body) const
    {
        std::ofstream(programs_ + name)
            << "#!/bin/bash\n[ \"$*\" = \"" << arguments << "\" ] || { echo \"$*\" >&2; exit 9; }\n"
            << body << "\n";
        std::filesystem::permissions(programs_ + name, std::filesystem::perms::owner_all);
    }

    void without(const std::string& name) const { std::filesystem::remove(programs_ + name); }

    json read(const std::string& path, json arguments = json::object())
    {
        arguments["path"] = "~/" + path;
        auto result = run("read_file", arguments);
        auto data = *result.data;
        data["text"] = result.text;
        return data;
    }

    void check_missing(const std::string& path, const std::string& needs)
    {
        const auto told = read(path);
        CHECK(told.at("kind") == "binary");
        const auto text = told.at("text").get<std::string>();
        CHECK_MESSAGE(text.find("where the sandbox has " + needs +
                                ", which this one does not have") != std::string::npos,
                      text);
    }

    void check_listed(const std::string& path, const std::string& wanted)
    {
        const auto told = read(path);
        CHECK_MESSAGE(told.at("kind") == "archive", told.at("text"));
        CHECK_MESSAGE(told.value("content", "").ends_with(wanted + "\n"), told.at("text"));
    }

  private:
    tests::TemporaryDirectory directory_;
    std::string bin_ = directory_ / "bin";
    std::string programs_; ///< the user's own folder of them, which is first in PATH
    session::SessionId id_{"tester", "programs"};
    std::unique_ptr<session::SessionManager> manager_;
    std::unique_ptr<workspace::Store> store_;
};

} // namespace

TEST_CASE("a zip is listed by any of three programs, and without them it is said which")
{
    Session session;
    session.command("/usr/bin/python3 -c 'import zipfile; z = zipfile.ZipFile(\"a.zip\", \"w\"); "
                    "z.writestr(zipfile.ZipInfo(\"d/entry\"), \"text\")'");
    session.check_missing("a.zip", "unzip (package unzip), bsdtar or python3");
    session.link("python3");
    session.check_listed("a.zip", "        4  1980-01-01 00:00   d/entry");
    session.stand_in("bsdtar", "-tvf -", "printf 'bsdtar %s\\n' \"$(head -c 2)\"");
    session.check_listed("a.zip", "bsdtar PK");
    session.stand_in("unzip", "-lqq /proc/self/fd/3",
                     "printf 'unzip %s\\n' \"$(head -c 2 /proc/self/fd/3)\"");
    session.check_listed("a.zip", "unzip PK");
}

TEST_CASE("a tar, and what is compressed with one in it, is listed by tar and what unpacks it")
{
    Session session;
    session.command("printf text >entry; /usr/bin/tar -cf a.tar entry; "
                    "printf '\\x1f\\x8b\\x08\\0' >a.gz; printf 'BZh91AY&SY\\0' >a.bz2; "
                    "printf '\\xfd7zXZ\\0' >a.xz; printf '\\x28\\xb5\\x2f\\xfd\\0' >a.zst");
    const std::pair<const char*, const char*> unpackers[] = {
        {"gz", "gzip"}, {"bz2", "bzip2"}, {"xz", "xz"}, {"zst", "zstd"}};
    const auto needs = [](const std::string& program) {
        return "tar and " + program + " (package " + (program == "xz" ? "xz-utils" : program) + ")";
    };
    session.check_missing("a.tar", "tar (package tar)");
    session.stand_in("gzip", "-dc", "exec cat ~/a.tar");
    session.check_missing("a.gz", needs("gzip"));
    session.without("gzip");
    session.link("tar");
    session.check_listed("a.tar", " entry");
    for (const auto& [ending, program] : unpackers) {
        CAPTURE(program);
        const auto path = std::string("a.") + ending;
        session.check_missing(path, needs(program));
        session.stand_in(program, "-dc", "exec cat ~/a.tar");
        session.check_listed(path, " entry");
    }
    session.stand_in("zstd", "-dc", "printf 'no archive'");
    CHECK(session.read("a.zst").at("text").get<std::string>().find(
              "no tar archive in it: zstd -dc FILE") != std::string::npos);
}

TEST_CASE("a 7z is listed by bsdtar or any 7-Zip, and without them it is said which")
{
    Session session;
    session.command("printf '7z\\xbc\\xaf\\x27\\x1c\\0\\4' >'it is.7z'");
    const std::string needs =
        "bsdtar (package libarchive-tools) or 7z (package 7zip or p7zip-full)";
    session.check_missing("it is.7z", needs);
    for (const std::string program : {"7z", "7zz", "7za", "7zr"}) {
        session.stand_in(program, "l -ba -spd -- $HOME/it is.7z",
                         "printf '" + program + " %s\\n' \"$(head -c 2 \"$5\")\"");
        session.check_listed("it is.7z", program + " 7z");
        session.without(program);
    }
    session.stand_in("bsdtar", "-tvf -", "printf 'bsdtar %s\\n' \"$(head -c 2)\"");
    session.check_listed("it is.7z", "bsdtar 7z");
    session.without("bsdtar");
    session.check_missing("it is.7z", needs);
}

TEST_CASE("a PDF is read by pdftotext, counted by pdfinfo, and without them it is said which")
{
    Session session;
    session.command("printf '%%PDF-1.4\\n\\0' >a.pdf");
    session.check_missing("a.pdf", "pdftotext (package poppler-utils)");
    session.stand_in("pdftotext", "-layout -enc UTF-8 -f $5 -l $7 $HOME/a.pdf -",
                     "for ((n = $5; n <= $7 && n <= 3; n++)); do printf 'page %s\\f' $n; done");
    CHECK(session.read("a.pdf").at("line_count") == 3);
    CHECK(session.read("a.pdf", {{"offset", -1}})
              .at("text")
              .get<std::string>()
              .find("cannot be counted from the end without pdfinfo, which this sandbox does not "
                    "have") != std::string::npos);
    session.stand_in("pdfinfo", "$HOME/a.pdf", "echo 'Pages:   3'");
    const auto last = session.read("a.pdf", {{"offset", -1}});
    CHECK(last.at("first_line") == 3);
    CHECK(last.at("content") == "--- page 3 ---\npage 3\n");
}

} // namespace berth::tools::test

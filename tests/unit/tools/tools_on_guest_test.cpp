#include "sandbox/base/error.hpp"
#include "sandbox/direct/direct_backend.hpp"
#include "tests/unit/temporary_directory.hpp"
#include "tests/unit/tools/caught.hpp"
#include "tests/unit/tools/schema_validator.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>

// Every tool through the real session manager, guest and workspace, on a machine that confines
// nothing: what the units cannot show is that the layers mean the same by what they say.

namespace berth::tools::test {
namespace {

using nlohmann::json;

class Session {
  public:
    explicit Session(const char* guest)
    {
        session::Settings manager;
        manager.state_directory = directory_ / "state";
        manager_ = std::make_unique<session::SessionManager>(
            manager, direct::make_backend(guest, directory_ / "machines"));
        store_ = workspace::make_directory_store(directory_ / "workspace");
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
        Context context{*manager_, *store_, settings, id_, anonymous, {}, {}};
        const auto* entry = find_tool(tool);
        auto result = run_tool(*entry, context, arguments);
        INFO(tool, " ", result.data->dump());
        CHECK(schema_complaint(entry->output_schema, *result.data) == "");
        result.receipt.acknowledge(); // as a service does for a client that reads
        return result;
    }

    ErrorCode refused(const char* tool, const json& arguments)
    {
        return caught([&] { (void)run(tool, arguments); }).code();
    }

    Settings settings;
    bool anonymous = false;

  private:
    tests::TemporaryDirectory directory_;
    session::SessionId id_{"tester", "tools"};
    std::unique_ptr<session::SessionManager> manager_;
    std::unique_ptr<workspace::Store> store_;
};

void commands(Session& session)
{
    const auto moved = session.run("bash_exec", {{"command", "mkdir -p src && cd src && pwd"}});
    CHECK(moved.data->at("exit_code") == 0);
    CHECK(moved.data->at("cwd_changed") == true);
    CHECK(moved.text.find("[cwd ") != std::string::npos);
    CHECK(session.run("bash_exec", {{"command", "exit 3"}, {"workdir", "~"}})
              .text.starts_with("(no output)\n[exit 3"));
    session.settings.output_budget = 2000;
    const auto big = session.run("bash_exec", {{"command", "seq 1 1000"}});
    const auto spill = big.data->at("stdout_stream").at("spill_path").get<std::string>();
    CHECK(big.text.find("whole in " + spill) != std::string::npos);
    const auto page = session.run("read_file", {{"path", spill}, {"offset", 499}, {"limit", 1}});
    CHECK(page.text.find("500\t500\n") != std::string::npos);
    session.settings.output_budget = 30'000;
    const auto stopped =
        session.run("bash_exec", {{"command", "echo part; sleep 60"}, {"timeout", 1}});
    CHECK(stopped.data->at("fate") == "timed_out");
    CHECK(stopped.text.starts_with("part\n[timed out after 1 s"));
}

void files(Session& session)
{
    const auto written =
        session.run("write_file", {{"path", "~/src/a.txt"}, {"content", "one\ntwo\n"}});
    CHECK(written.data->at("created") == true);
    const auto hash = written.data->at("sha256").get<std::string>();
    const auto read = session.run("read_file", {{"path", written.data->at("path")}});
    CHECK(read.text == "[sha256 " + hash.substr(0, 12) + "]\n1\tone\n2\ttwo\n");
    CHECK(read.data->at("sha256") == hash);
    const auto edited = session.run("edit_file", {{"file_path", "~/src/a.txt"},
                                                  {"old_string", "two"},
                                                  {"new_string", "three"},
                                                  {"if_sha256", hash.substr(0, 12)}});
    CHECK(edited.text.find("-two\n+three\n") != std::string::npos);
    CHECK(session.refused("edit_file", {{"path", "~/src/a.txt"},
                                        {"old_text", "three"},
                                        {"new_text", "four"},
                                        {"if_sha256", hash}}) == ErrorCode::conflict);
    CHECK(session.refused("read_file", {{"path", "~/missing"}}) == ErrorCode::not_found);
    CHECK(session.run("read_file", {{"path", "~/src"}}).text.find("a.txt  10 bytes") !=
          std::string::npos);
    session.run("write_file",
                {{"path", "~/src/b.bin"}, {"content", "AAECAw=="}, {"encoding", "base64"}});
    CHECK(session.run("read_file", {{"path", "~/src/b.bin"}, {"encoding", "base64"}}).text ==
          "AAECAw==");
    CHECK(session.run("read_file", {{"path", "~/src/b.bin"}}).text.find("00 01 02 03") !=
          std::string::npos);
}

/// What read_file makes of files that are no text, also by programs of the sandbox.
void other_kinds(Session& session)
{
    session.run(
        "bash_exec",
        {{"command", "mkdir -p ~/kinds ~/.local/bin; cd ~/kinds; seq 9 >lines; "
                     "tar -cf a.tar lines; printf '%%PDF-1.4' >\"it's.pdf\"; "
                     "printf '#!/bin/bash\nprintf \"%%s\\f\" \"$8\"' >~/.local/bin/pdftotext; "
                     "printf 'exit 1' >~/.local/bin/pdfinfo; chmod +x ~/.local/bin/*; "
                     "echo '{\"cells\": [{\"source\": \"a = 1\"}]}' >n.ipynb"}});
    const auto kind = [&](const char* path, const char* wanted) {
        const auto result = session.run("read_file", {{"path", path}});
        CHECK(result.data->at("kind") == wanted);
        return result.text;
    };
    CHECK(session.run("read_file", {{"path", "lines"}, {"offset", -2}}).text.ends_with("9\t9\n"));
    CHECK(kind("a.tar", "archive").ends_with(" lines\n"));
    CHECK(kind("n.ipynb", "notebook").ends_with("\na = 1\n"));
    CHECK(kind("it's.pdf", "pdf").ends_with("/kinds/it's.pdf\n"));
    CHECK(session.refused("read_file", {{"path", "lines"}, {"pages", "1"}}) ==
          ErrorCode::invalid_argument);
    session.run("bash_exec", {{"command", "cd ~/src"}});
}

void searches(Session& session)
{
    const auto found = session.run("glob_files", {{"pattern", "*.txt"}, {"path", "~/src"}});
    REQUIRE(found.data->at("paths").size() == 1);
    const auto path = found.data->at("paths")[0].get<std::string>();
    CHECK(session.run("grep_files", {{"pattern", "thr.e"}, {"path", "~/src"}})
              .text.starts_with(path + ":2:three\n[1 matching line in 1 file"));
    CHECK(session.run("grep_files", {{"pattern", "nothing at all"}, {"path", "~/src"}})
              .text.starts_with("[No matches"));
    CHECK(session.refused("grep_files", {{"pattern", "("}}) == ErrorCode::invalid_argument);
}

/// next_offset leads to every match once, whatever context fills the pages.
void search_pages(Session& session)
{
    session.run(
        "bash_exec",
        {{"command", "(mkdir ~/long && cd ~/long && for f in a b; do seq -f 'line %04g is as "
                     "long as most lines of a program are' 3000 > $f; sed -i "
                     "'10s/^/needle /;2500,2501s/^/needle /;3000s/^/needle /' $f; done)"}});
    for (const std::uint64_t budget : {1000U, 30'000U}) {
        session.settings.output_budget = budget;
        for (const char* const context : {"before", "after", "context"}) {
            for (const int limit : {1, 3, 250}) {
                CAPTURE(budget);
                CAPTURE(context);
                CAPTURE(limit);
                std::uint64_t offset = 0;
                std::string found;
                do {
                    const auto page = session.run("grep_files", {{"pattern", "needle"},
                                                                 {"path", "~/long"},
                                                                 {context, 1000},
                                                                 {"limit", limit},
                                                                 {"offset", offset}});
                    CHECK(page.text.find("past the end") == std::string::npos);
                    REQUIRE(page.data->at("listed") > 0);
                    for (const auto& file : page.data->at("files")) {
                        for (const auto& line : file.at("lines")) {
                            found += line.at("is_match") ? " " + line.at("number").dump() : "";
                        }
                    }
                    offset = page.data->at("next_offset");
                } while (offset != 0);
                CHECK(found == " 10 2500 2501 3000 10 2500 2501 3000");
            }
        }
    }
    session.settings.output_budget = 30'000;
}

void workspace_files(Session& session)
{
    const auto single = session.run("save_to_workspace", {{"sandbox_path", "~/src/a.txt"}});
    CHECK(single.data->at("files")[0].at("workspace_path") == "/a.txt");
    session.run("bash_exec", {{"command", "cd ~/src && ln -s a.txt la"}});
    const auto link = session.run("save_to_workspace", {{"sandbox_path", "~/src/la"}});
    CHECK(link.data->at("files")[0].at("workspace_path") == "/la");
    session.run("bash_exec", {{"command", "rm ~/src/la"}});
    const auto tree = session.run("save_to_workspace", {{"sandbox_path", "~/src"}});
    CHECK(tree.data->at("files").size() == 2);
    CHECK(tree.data->at("files")[0].at("workspace_path") == "/src/a.txt");
    CHECK(session.refused("save_to_workspace", {{"sandbox_path", "~/src"}, {"overwrite", false}}) ==
          ErrorCode::conflict);
    CHECK(session.refused("save_to_workspace", {{"sandbox_path", "~/none/*.c"}}) ==
          ErrorCode::not_found);
    CHECK(session.run("list_workspace_files", {{"prefix", "/src"}}).data->at("total") == 2);
    session.run("load_from_workspace", {{"workspace_path", "/src"}, {"sandbox_path", "~/copy"}});
    CHECK(session.run("read_file", {{"path", "~/copy/a.txt"}})
              .text.ends_with("]\n1\tone\n2\tthree\n"));
    const auto loaded = session.run("load_from_workspace", {{"workspace_path", "/a.txt"}});
    CHECK(session.run("read_file", {{"path", loaded.data->at("files")[0].at("sandbox_path")}})
              .text.ends_with("]\n1\tone\n2\tthree\n"));
    session.run("bash_exec", {{"command", "cd ~/copy && echo kept > a.txt && chmod a-w b.bin"}});
    CHECK(session.refused("load_from_workspace",
                          {{"workspace_path", "/src"}, {"sandbox_path", "~/copy"}}) ==
          ErrorCode::permission_denied);
    CHECK(session.run("read_file", {{"path", "~/copy/a.txt"}}).text.ends_with("]\n1\tkept\n"));
    session.run("delete_workspace_file", {{"workspace_path", "/a.txt"}});
    CHECK(session.refused("load_from_workspace", {{"workspace_path", "/a.txt"}}) ==
          ErrorCode::not_found);
    session.anonymous = true;
    CHECK(session.refused("list_workspace_files", json::object()) ==
          ErrorCode::authentication_required);
}

/// A name may have the characters of a pattern: only where nothing is called so is it one.
void saved_names(Session& session)
{
    session.run("bash_exec",
                {{"command", "(mkdir -p ~/app/x && cd ~/app && echo p > p.ts && cp p.ts x/y.ts && "
                             "for d in '[slug]' '{a,b}' 's*r' 'w?t'; do mkdir \"$d\" && cp -r p.ts "
                             "x \"$d\"; done)"}});
    const auto saved = [&](const std::string& path, const char* target = nullptr) {
        json arguments = {{"sandbox_path", path}};
        if (target != nullptr) {
            arguments["workspace_path"] = target;
        }
        const auto result = session.run("save_to_workspace", arguments);
        std::string names;
        for (const auto& file : result.data->at("files")) {
            names += file.at("workspace_path").get<std::string>() + " ";
        }
        return names;
    };
    for (const std::string name : {"[slug]", "{a,b}", "s*r", "w?t"}) {
        CAPTURE(name);
        const std::string kept = "/" + name;
        CHECK(saved("~/app/" + name) == kept + "/p.ts " + kept + "/x/y.ts ");
        CHECK(saved("~/app/" + name + "/") == kept + "/p.ts " + kept + "/x/y.ts ");
        CHECK(saved("~/app/" + name + "/x") == "/x/y.ts ");
        CHECK(saved("~/app/" + name + "/p.ts") == "/p.ts ");
        CHECK(saved("~/app/" + name, "/to") == "/to/p.ts /to/x/y.ts ");
    }
    CHECK(saved("~/app/*.ts") == "/p.ts ");
    CHECK(saved("~/app/[x]/*.ts") == "/x/y.ts ");
    CHECK(saved("~/app/{p,q}.ts", "/to") == "/to/p.ts ");
}

void jobs(Session& session)
{
    const auto started = session.run("bash_exec", {{"command", "read -r name; echo hello $name"},
                                                   {"background", true},
                                                   {"stdin_open", true}});
    const auto job = started.data->at("job_id").get<std::string>();
    CHECK(started.data->at("fate") == "running");
    CHECK(started.text.find("running in the background as " + job) != std::string::npos);
    CHECK(session.run("session_info", json::object()).data->at("jobs")[0].at("job_id") == job);
    session.run("bash_input", {{"job_id", job}, {"input", "berth\n"}});
    const auto told = session.run("bash_output", {{"job_id", job}, {"wait", 20}});
    CHECK(told.data->at("stdout") == "hello berth\n");
    const auto ended = session.run("bash_kill", {{"job_id", job}});
    CHECK(ended.data->at("status") == "ended");
    CHECK(ended.data->at("exit_code") == 0);
    CHECK(session.run("session_info", json::object()).data->at("ended_jobs").size() == 1);
    CHECK(session.refused("bash_output", {{"job_id", "job-99"}}) == ErrorCode::not_found);
}

} // namespace

TEST_CASE("every tool on a real guest")
{
    Session session(BERTH_GUEST);
    // Asking about a session must not make a machine.
    CHECK(session.run("session_info", json::object()).data->at("state") == "absent");
    CHECK(session.refused("bash_output", {{"job_id", "job-1"}}) == ErrorCode::not_found);
    CHECK(session.run("session_info", json::object()).data->at("state") == "absent");
    commands(session);
    jobs(session);
    files(session);
    other_kinds(session);
    searches(session);
    const auto info = session.run("session_info", json::object());
    CHECK(info.data->at("state") == "running");
    CHECK(info.data->at("cwd").get<std::string>().ends_with("/src"));
    search_pages(session);
    saved_names(session);
    workspace_files(session);
}

} // namespace berth::tools::test

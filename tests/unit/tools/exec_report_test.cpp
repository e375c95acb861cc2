#include "tools/bash_exec.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <string>

namespace protocol = berth::protocol;
using berth::tools::BashExec;
using berth::tools::Settings;

namespace {

protocol::StreamOutput stream(const std::string& text)
{
    protocol::StreamOutput output;
    output.head = text;
    output.total_bytes = text.size();
    return output;
}

protocol::ExecuteReply reply(const std::string& out = "", const std::string& err = "")
{
    protocol::ExecuteReply result;
    result.out = stream(out);
    result.err = stream(err);
    result.duration = 1234;
    result.cwd = "/home/user";
    return result;
}

std::string text_of(const protocol::ExecuteReply& result, const Settings& settings = {})
{
    return BashExec::render(result, std::chrono::seconds(2), settings).text;
}

} // namespace

TEST_CASE("an ordinary end needs no status line")
{
    CHECK(text_of(reply()) == "(no output)");
    CHECK(text_of(reply("out\n")) == "out\n");
    CHECK(text_of(reply("out", "err\n")) == "out\n[stderr]\nerr\n");
    CHECK(text_of(reply("", "err")) == "[stderr]\nerr");
}

TEST_CASE("a non-zero exit is one line, and data, not an error")
{
    auto failed = reply("out");
    failed.exit_code = 3;
    CHECK(text_of(failed) == "out\n[exit 3 · 1.2 s]");
    const auto result = BashExec::render(failed, std::chrono::seconds(2), Settings{});
    CHECK(result.data->at("exit_code") == 3);
    CHECK(result.data->at("fate") == "exited");
}

TEST_CASE("what the network denied is told, so that it does not look broken")
{
    auto denied = reply();
    denied.exit_code = 56;
    denied.denials = {{.kind = "domain",
                       .target = "a.example:443",
                       .reason = "this name is not allowed",
                       .remedy = "Do without it.",
                       .count = 2},
                      {.kind = "request", .target = "", .reason = "x\x1b", .remedy = "y."}};
    CHECK(text_of(denied) ==
          "(no output)\n[the network denied a.example:443, 2 times: this name is not allowed. "
          "Do without it.]\n[the network denied a request: x\\x1b. y.]\n[exit 56 · 1.2 s]");
    const auto result = BashExec::render(denied, std::chrono::seconds(2), Settings{});
    const auto& told = result.data->at("denials");
    REQUIRE(told.size() == 2);
    CHECK(told[0].at("target") == "a.example:443");
    CHECK(told[0].at("count") == 2);
}

TEST_CASE("signals are named")
{
    auto killed = reply();
    killed.fate = protocol::Fate::signaled;
    killed.signal = SIGSEGV;
    killed.exit_code = 139;
    CHECK(text_of(killed) == "(no output)\n[killed by SIGSEGV (exit 139) · 1.2 s]");
}

TEST_CASE("of a full-screen program that waited for keys it is said that there is no terminal")
{
    const auto said = [](const std::string& printed, protocol::Fate fate) {
        auto result = reply(printed);
        result.fate = fate;
        return text_of(result).find("there is no terminal here") != std::string::npos;
    };
    const auto timed_out = protocol::Fate::timed_out;
    CHECK(said("\x0c\x1b[24;1H\"x\" [New]\x1b[2;1H~", timed_out));
    CHECK(said("\x1b[?1049h\x1b[22;0;0t", timed_out));
    CHECK_FALSE(said("\x1b[24;1H", protocol::Fate::exited));
    CHECK_FALSE(said("\x1b[1;32mok\x1b[0m \x1b[2K\x1b[1G\x1b[3A\x1b[H\x1b[2J", timed_out));
    CHECK_FALSE(said("plain; 24;1H \x1b[24;1", timed_out));
}

TEST_CASE("a timeout says what became of the processes")
{
    auto timed_out = reply("partial\n");
    timed_out.fate = protocol::Fate::timed_out;
    timed_out.exit_code = -1;
    timed_out.duration = 2001;
    timed_out.stop_proof = protocol::StopProof::cgroup;
    CHECK(text_of(timed_out) == "partial\n[timed out after 2 s · 2.0 s · all its processes are "
                                "stopped (verified by cgroup)]");
    timed_out.survivors = 2;
    CHECK(text_of(timed_out).find("2 processes could not be stopped") != std::string::npos);
    const auto result = BashExec::render(timed_out, std::chrono::seconds(2), Settings{});
    CHECK(result.data->at("timed_out") == true);
    CHECK(result.data->at("survivors") == 2);
}

TEST_CASE("memory, cancellation and loss have words of their own")
{
    auto other = reply();
    other.fate = protocol::Fate::oom_killed;
    other.exit_code = 137;
    CHECK(text_of(other).find("out of memory") != std::string::npos);
    other.fate = protocol::Fate::cancelled;
    CHECK(text_of(other).find("cancelled") != std::string::npos);
    CHECK(text_of(other).find("not verified") != std::string::npos);
    other.fate = protocol::Fate::lost;
    CHECK(text_of(other).find("outcome was lost") != std::string::npos);
}

TEST_CASE("the working directory is named only when it changed")
{
    auto moved = reply("out\n");
    CHECK(text_of(moved).find("cwd") == std::string::npos);
    moved.cwd_changed = true;
    moved.cwd = "/home/user/src";
    CHECK(text_of(moved) == "out\n[cwd /home/user/src]");
}

TEST_CASE("what was left running is named with its job")
{
    auto left = reply("started\n");
    left.job_id = "job-1";
    left.job_cursor = "8-0";
    left.left_running = {{12, "sleep 100"}, {13, ""}};
    const std::string reach =
        "bash_output {\"job_id\": \"job-1\", \"since\": \"8-0\", \"wait\": 30} "
        "shows what it prints, bash_kill ends it]";
    CHECK(text_of(left) ==
          "started\n[left running as job-1: pid 12 (sleep 100), pid 13 · " + reach);
    left.left_running.resize(9);
    CHECK(text_of(left).find("and 4 more") != std::string::npos);
    left.left_running.clear();
    left.job_remaining = 7'200'000;
    left.out.held_open = true;
    left.out.spill_path = "/var/tmp/berth/1.stdout";
    // That file ends where the job's next one begins: bash_output names the newest.
    CHECK(text_of(left) ==
          "started\n[left running as job-1 · stopped in 2 h at the latest · " + reach);
    left.job_id = "\x1b[31mjob";
    CHECK(text_of(left).find('\x1b') == std::string::npos);
}

TEST_CASE("a long output loses its middle and names the file that has it all")
{
    Settings settings;
    settings.output_budget = 100;
    auto big = reply(std::string(400, 'a'), "oops\n");
    big.out.spill_path = "/tmp/.berth/out/17.stdout";
    big.out.spill_bytes = 400;
    const auto text = text_of(big, settings);
    CHECK(text.find("[... 305 bytes left out ...]") != std::string::npos);
    CHECK(text.find("stdout 400 bytes, middle left out, whole in /tmp/.berth/out/17.stdout "
                    "(read_file pages it)") != std::string::npos);
    CHECK(text.find("oops") != std::string::npos);

    big.out.spill_error = "a command wrote to the file";
    const auto touched = text_of(big, settings);
    CHECK(touched.find("whole in") == std::string::npos);
    CHECK(touched.find(", in /tmp/.berth/out/17.stdout (read_file pages it): a command wrote") !=
          std::string::npos);

    big.out.spill_bytes = 300;
    big.out.spill_error = "the disk is full";
    const auto partly = text_of(big, settings);
    CHECK(partly.find("the first 300 bytes in") != std::string::npos);
    CHECK(partly.find("the disk is full") != std::string::npos);

    big.out.spill_path.clear();
    CHECK(text_of(big, settings).find("not kept: the disk is full") != std::string::npos);
}

TEST_CASE("what was folded is counted and the file that has it named")
{
    auto bar = reply("100%\ndone\n");
    bar.out.total_bytes = 10'000'010;
    bar.out.folded_bytes = 10'000'000;
    bar.out.folded_updates = 81'234;
    bar.out.spill_path = "/var/tmp/berth/1.stdout";
    bar.out.spill_bytes = 10'000'010;
    const auto result = BashExec::render(bar, std::chrono::seconds(2), Settings{});
    CHECK(result.text == "100%\ndone\n[stdout 10.0 MB, 81,234 updates by \\r folded, whole in "
                         "/var/tmp/berth/1.stdout (read_file pages it)]");
    CHECK(result.data->at("stdout") == "100%\ndone\n");
    CHECK(result.data->at("stdout_truncated") == false);
    const auto& stream = result.data->at("stdout_stream");
    CHECK(stream.at("folded_updates") == 81'234);
    CHECK(stream.at("folded_bytes") == 10'000'000);
    CHECK(stream.at("total_bytes") == 10'000'010);

    bar.out.omitted_bytes = 7;
    bar.out.spill_path.clear();
    bar.out.spill_error = "the disk is full";
    CHECK(text_of(bar).find("stdout 10.0 MB, 81,234 updates by \\r folded, middle left out, not "
                            "kept: the disk is full") != std::string::npos);

    bar.out.omitted_bytes = 0;
    bar.out.folded_updates = 0; // of what the typed result counts the text says something
    bar.out.folded_bytes = 2;
    CHECK(text_of(bar).find("stdout 10.0 MB, 2 bytes of \\r folded, not kept") !=
          std::string::npos);
}

TEST_CASE("escape sequences are left out and counted, or written, or passed, as it is set")
{
    const auto coloured = reply("\x1b[31mred\x1b[0m\n", "\x1b[1mbold\n");
    Settings settings;
    CHECK(text_of(coloured, settings) ==
          "red\n[stderr]\nbold\n[3 escape sequences left out (cat -v "
          "shows them)]");
    const auto data = [&] {
        return *BashExec::render(coloured, std::chrono::seconds(2), settings).data;
    };
    CHECK(data().at("stdout") == "red\n");
    CHECK(data().at("stdout_stream").at("stripped_sequences") == 2);
    CHECK(data().at("stderr_stream").at("stripped_sequences") == 1);
    settings.control_characters = berth::ControlCharacters::escape;
    CHECK(text_of(coloured, settings) == "\\x1b[31mred\\x1b[0m\n[stderr]\n\\x1b[1mbold\n");
    CHECK(data().at("stdout") == "\\x1b[31mred\\x1b[0m\n");
    settings.control_characters = berth::ControlCharacters::pass;
    CHECK(text_of(coloured, settings) == "\x1b[31mred\x1b[0m\n[stderr]\n\x1b[1mbold\n");
    CHECK(data().at("stdout_stream").at("stripped_sequences") == 0);
}

TEST_CASE("both streams over the budget: neither drowns the other")
{
    Settings settings;
    settings.output_budget = 1000;
    const auto result = BashExec::render(reply(std::string(5000, 'o'), std::string(5000, 'e')),
                                         std::chrono::seconds(2), settings);
    const auto err = result.data->at("stderr").get<std::string>();
    CHECK(std::count(err.begin(), err.end(), 'e') >= 250);
    CHECK(result.data->at("stdout_truncated") == true);
    CHECK(result.data->at("stderr_truncated") == true);
}

TEST_CASE("the guest keeps enough for a budget in wide characters, and spills what is cut")
{
    const auto request = BashExec::request({.command = "true"}, Settings{});
    CHECK(request.head_limit + request.tail_limit == 120'000);
    CHECK(request.spill_above == 30'000);
    CHECK(request.timeout == 120'000);
}

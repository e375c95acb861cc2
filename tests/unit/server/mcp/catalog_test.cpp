#include "server/mcp/catalog.hpp"
#include "tools/bash_exec.hpp"
#include "tools/bash_output.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace protocol = berth::protocol;
using berth::ControlCharacters;
using berth::mcp::max_result_characters;
using berth::tools::BashExec;
using berth::tools::BashOutput;
using berth::tools::Settings;

namespace {

std::string repeated(std::string_view text, std::size_t times)
{
    std::string all;
    while (times-- > 0) {
        all += text;
    }
    return all;
}

/// As JavaScript counts a text's length.
std::uint64_t utf16_units(std::string_view text)
{
    std::uint64_t units = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        units += (byte & 0xC0U) != 0x80U ? 1U : 0U; // the first byte of a character
        units += byte >= 0xF0U ? 1U : 0U;           // of one that has two units
    }
    return units;
}

protocol::StreamOutput longest_stream(const Settings& settings, std::string_view character)
{
    protocol::StreamOutput stream;
    stream.head = repeated(character, settings.output_budget);
    stream.tail = stream.head;
    stream.omitted_bytes = 1'000'000'000'000;
    stream.omitted_lines = stream.omitted_bytes;
    stream.folded_bytes = stream.omitted_bytes;
    stream.folded_updates = stream.omitted_bytes;
    stream.total_bytes = 3 * stream.omitted_bytes;
    stream.spill_path = "/var/tmp/berth/1234567.stdout";
    stream.spill_error = "write " + stream.spill_path + ": No space left on device";
    return stream;
}

std::string longest_result(const Settings& settings, std::string_view character)
{
    constexpr std::size_t longest_path = 4095;
    constexpr std::size_t longest_name = 200;
    protocol::ExecuteReply reply;
    reply.out = reply.err = longest_stream(settings, character);
    reply.fate = protocol::Fate::timed_out;
    reply.duration = 7'200'000;
    reply.cwd = "/" + std::string(longest_path - 1, '\x1b');
    reply.cwd_changed = true;
    reply.survivors = 1000;
    reply.job_id = "job-1000000-ffff";
    reply.job_cursor = "1000000000000-1000000000000";
    reply.left_running.resize(1000, {4'000'000, std::string(longest_name, '\x1b')});
    return BashExec::render(reply, std::chrono::seconds(7200), settings).text;
}

std::string longest_job_result(const Settings& settings, std::string_view character)
{
    protocol::JobOutputReply reply;
    reply.out.text = reply.err.text = longest_stream(settings, character);
    reply.out.dropped = reply.err.dropped = 1'000'000'000'000;
    reply.out.written = reply.err.written = 1'000'000'000'000;
    reply.state.job_id = "job-1000000-ffff";
    reply.state.running = true;
    reply.cursor = "1000000000000-1000000000000";
    BashOutput::Args args;
    args.job_id = reply.state.job_id;
    return BashOutput::render(args, reply, settings).text;
}

} // namespace

TEST_CASE("the largest result is no larger than a client is told to expect")
{
    Settings settings;
    for (const std::uint64_t budget : {1000UL, 30'000UL, 50'000UL, 80'000UL, 230'000UL}) {
        settings.output_budget = budget;
        settings.read_budget = budget;
        const auto most = max_result_characters(settings);
        CHECK(most >= 2 * budget); // a file of such characters
        for (const auto treatment :
             {ControlCharacters::strip, ControlCharacters::escape, ControlCharacters::pass}) {
            settings.control_characters = treatment;
            for (const std::string_view character : {"x", "\x1b", "\xff", "\u202e", "😀", "😀\n"}) {
                CAPTURE(budget);
                CAPTURE(character);
                CHECK(utf16_units(longest_result(settings, character)) <= most);
                CHECK(utf16_units(longest_job_result(settings, character)) <= most);
            }
        }
    }
}

TEST_CASE("no client is told more than it takes, nor less than what other tools may need")
{
    Settings settings;
    settings.output_budget = 400'000;
    CHECK(max_result_characters(settings) == 500'000);
    settings.output_budget = settings.read_budget = 1000;
    CHECK(max_result_characters(settings) == 100'000);
}

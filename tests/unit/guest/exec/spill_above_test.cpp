#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>

// What the host will cut must be in a file, even where the guest has kept all of it.

namespace berth::guest::test {
namespace {

Outcome run_with(Guest& guest, const std::string& command, std::uint64_t spill_above)
{
    auto request = Guest::request(command);
    request.head_limit = 1000;
    request.tail_limit = 1000;
    request.spill_above = spill_above;
    return guest.run(request);
}

} // namespace

TEST_CASE("streams that are long together are spilled though each was kept whole")
{
    for (const Mode mode : modes()) {
        CAPTURE(name_of(mode));
        Guest guest(mode);
        const std::string command =
            "for i in 1 2 3 4 5 6 7 8; do echo 123456789; done; echo error >&2";

        const auto long_enough = run_with(guest, command, 80);
        REQUIRE(!long_enough.error);
        CHECK(long_enough.reply.out.omitted_bytes == 0);
        CHECK(long_enough.reply.out.spill_bytes == 80);
        CHECK(std::filesystem::file_size(long_enough.reply.out.spill_path) == 80);
        CHECK(long_enough.reply.err.spill_path.empty()); // too short to be cut

        const auto short_enough = run_with(guest, command, 86);
        CHECK(short_enough.reply.out.spill_path.empty());
        CHECK(run_with(guest, command, 0).reply.out.spill_path.empty());
    }
}

TEST_CASE("a stream that is longer once it is escaped is spilled as well")
{
    Guest guest(Mode::subreaper);
    const std::string command =
        "printf '\\033[1m\\200\\342\\200\\256 x'"; // 19 characters, 10 bytes
    CHECK(run_with(guest, command, 19).reply.out.spill_path.empty());
    const auto spilled = run_with(guest, command, 18).reply.out;
    CHECK(spilled.omitted_bytes == 0);
    CHECK(spilled.spill_bytes == spilled.total_bytes);
}

} // namespace berth::guest::test

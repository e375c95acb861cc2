// What is read back from the disk beside a file of the workspace: its footer, and a time.

#include "sandbox/base/wall_time.hpp"
#include "sandbox/workspace/footer.hpp"
#include "tests/fuzz/target.hpp"

BERTH_FUZZ_TARGET(stored_facts)
{
    using berth::fuzz::require;
    if (const auto footer = berth::workspace::decode_footer(input)) {
        require(encode(*footer) == input, "a footer has one form");
    }
    if (const auto time = berth::parse_rfc3339(input)) {
        require(berth::rfc3339(*time) == input, "a time has one form");
    }
}

// How far the output of a job was read, as a model gives it back.

#include "sandbox/base/error.hpp"
#include "sandbox/guest/exec/job_reader.hpp"
#include "tests/fuzz/target.hpp"

#include <string>

BERTH_FUZZ_TARGET(job_cursor)
{
    using berth::fuzz::require;
    try {
        const auto cursor = berth::guest::JobCursor::parse(std::string(input));
        require(input.empty() || cursor.to_text() == input,
                "only what was given out is taken back");
    } catch (const berth::Error& error) {
        require(error.code() == berth::ErrorCode::invalid_argument, "the cursor is wrong");
    }
}

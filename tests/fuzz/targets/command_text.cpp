// A command, as a shell gets it.

#include "sandbox/guest/exec/command_text.hpp"

#include "tests/fuzz/target.hpp"

#include <string>

BERTH_FUZZ_TARGET(command_text)
{
    const auto text = berth::guest::command_text(std::string(input));
    berth::fuzz::require(text.starts_with(input), "the command is in it as it stands");
    berth::fuzz::require(text.size() <= input.size() + 2, "and no more than two newlines");
}

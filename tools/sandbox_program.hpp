#pragma once

#include "tools/tool.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace berth::tools {

/// A script that looks into a file for a reading tool.
struct SandboxScript {
    /// For bash; exits with `program_missing` where no program that it needs is there. Names reach
    /// it in variables alone, so that no name can be read as a part of it. What it prints it must
    /// bound itself.
    std::string_view text;
    std::map<std::string, std::string> variables;
    std::uint64_t most_output = 0; ///< bytes that are kept of what it prints
};

/// What a shell answers to the name of a program that is not there.
inline constexpr int program_missing = 127;

struct ScriptOutput {
    int exit_code = 0;
    std::string out;
    bool timed_out = false; ///< `out` is what came until then
    std::string complaint;  ///< the first line of its standard error, or how it ended; one line
};

/// What a script is given: 20, or less where no command may have so much.
[[nodiscard]] std::int64_t script_seconds(const Settings& settings);

/// Runs `script` in the session's sandbox as its user, as bash_exec does, in / and without moving
/// the working directory; nothing that it starts outlives it. Throws what bash_exec throws, and
/// Error(cancelled).
[[nodiscard]] ScriptOutput run_script(Context& context, const SandboxScript& script);

} // namespace berth::tools

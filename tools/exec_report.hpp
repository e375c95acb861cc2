#pragma once

#include "sandbox/protocol/messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace berth::tools {

/// A stream as it is shown, and what is missing in it.
struct ShownStream {
    std::string text;
    std::uint64_t omitted_bytes = 0;
    std::uint64_t omitted_lines = 0;
};

/// For the model: stdout, stderr below "[stderr]", and a status line when it says something.
[[nodiscard]] std::string exec_text(const protocol::ExecuteReply& reply, const ShownStream& out,
                                    const ShownStream& err, std::chrono::seconds timeout);

/// For programs: schemas/tools/bash_exec.output.json.
[[nodiscard]] nlohmann::json exec_data(const protocol::ExecuteReply& reply, const ShownStream& out,
                                       const ShownStream& err, std::chrono::seconds timeout);

} // namespace berth::tools

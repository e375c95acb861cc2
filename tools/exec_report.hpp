#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/output_budget.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::tools {

/// As results name it: "exited", "timed_out" …
[[nodiscard]] std::string_view fate_word(protocol::Fate fate);

[[nodiscard]] std::string_view proof_word(protocol::StopProof proof);

/// "exit 3", "killed by SIGTERM (exit 143)"; not for an end by timeout.
[[nodiscard]] std::string ended_phrase(protocol::Fate fate, std::int32_t exit_code,
                                       std::int32_t signal);

/// stdout, and stderr below "[stderr]"; empty when there is neither.
[[nodiscard]] std::string streams_text(const ShownStream& out, const ShownStream& err);

/// "81,234 updates by \r folded"; where nothing was rewritten that could be seen (a line that
/// begins with a carriage return), "1 byte of \r folded"; empty: nothing was.
[[nodiscard]] std::string folded_phrase(std::uint64_t bytes, std::uint64_t updates);

/// What of a stream is not shown: "81,234 updates by \r folded, middle left out"; empty when all
/// is.
[[nodiscard]] std::string missing_phrase(const protocol::StreamOutput& stream,
                                         const ShownStream& shown);

/// "42 escape sequences left out (cat -v shows them)"; empty without any.
[[nodiscard]] std::string stripped_phrase(const ShownStream& out, const ShownStream& err);

/// `block` on a line of its own.
void append_block(std::string& text, const std::string& block);

/// For the model: stdout, stderr below "[stderr]", and a status line when it says something.
[[nodiscard]] std::string exec_text(const protocol::ExecuteReply& reply, const ShownStream& out,
                                    const ShownStream& err, std::chrono::seconds timeout);

/// For programs: schemas/tools/bash_exec.output.json.
[[nodiscard]] nlohmann::json exec_data(const protocol::ExecuteReply& reply, const ShownStream& out,
                                       const ShownStream& err, std::chrono::seconds timeout);

} // namespace berth::tools

#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/exec_report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

/// Who stopped a job that has ended, from its `ended_by`; empty: nobody.
[[nodiscard]] std::string stopper_phrase(std::string_view ended_by);

/// What is to be said of a job in a line, first of all what it does: "job-1 running", "12.3 s" …
[[nodiscard]] std::vector<std::string> job_parts(const protocol::JobState& state);

/// The same in one sentence, for `message`.
[[nodiscard]] std::string job_message(const protocol::JobState& state);

/// What every tool of jobs tells programs about the job itself; without `message`.
[[nodiscard]] nlohmann::json job_data(const protocol::JobState& state);

/// For the model: a status line, what is new, what to call next.
[[nodiscard]] std::string job_output_text(const protocol::JobOutputReply& reply,
                                          const ShownStream& out, const ShownStream& err,
                                          const std::string& filter);

/// schemas/tools/bash_output.output.json.
[[nodiscard]] nlohmann::json job_output_data(const protocol::JobOutputReply& reply,
                                             const ShownStream& out, const ShownStream& err);

} // namespace berth::tools

#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/tool.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// One report for each kind of thing that read_file can meet; the data of all of them is described
// by schemas/tools/read_file.output.json.

namespace berth::tools {

/// The data of every report, with nothing shown yet.
[[nodiscard]] nlohmann::json read_data(const protocol::ReadFileReply& reply, std::string message);

/// What an offset skips of `total` lines, cells …; a negative one counts from their end.
[[nodiscard]] std::uint64_t first_of(std::int64_t offset, std::uint64_t total);

/// `asked`: the offset of the call, negative when it counts from the end. `budget`: characters of
/// text, line numbers included.
[[nodiscard]] Result text_report(const protocol::ReadFileReply& reply, std::int64_t asked,
                                 bool line_numbers, std::uint64_t budget);
/// `cut_by`: what is to blame ("limit", "budget") when more follows.
[[nodiscard]] Result base64_report(const protocol::ReadFileReply& reply, std::int64_t asked,
                                   std::string_view cut_by);
/// A file that is not shown: what it is, why if that is to be said, and its first bytes.
[[nodiscard]] Result described(const protocol::ReadFileReply& reply, const std::string& remark);
/// What is no picture that a model could be shown is described as any binary file. `advice`: how a
/// smaller copy of one that is too large is made; empty when nobody asked.
[[nodiscard]] Result image_report(protocol::ReadFileReply reply, const std::string& advice);
/// `picture_limit`: bytes of a picture that would have been shown.
[[nodiscard]] Result binary_report(const protocol::ReadFileReply& reply,
                                   std::uint64_t picture_limit, const std::string& advice);
[[nodiscard]] Result directory_report(const protocol::ReadFileReply& reply, std::int64_t asked,
                                      std::uint64_t budget);

} // namespace berth::tools

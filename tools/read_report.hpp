#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/tool.hpp"

#include <cstdint>

// One report for each kind of thing that read_file can meet; the data of all of them is described
// by schemas/tools/read_file.output.json.

namespace berth::tools {

/// `budget`: characters of text, line numbers included.
[[nodiscard]] Result text_report(const protocol::ReadFileReply& reply, std::uint64_t offset,
                                 bool line_numbers, std::uint64_t budget);
[[nodiscard]] Result base64_report(const protocol::ReadFileReply& reply, std::uint64_t offset);
/// Without content (the image is larger than the limit) it is only described.
[[nodiscard]] Result image_report(protocol::ReadFileReply reply);
[[nodiscard]] Result binary_report(const protocol::ReadFileReply& reply);
[[nodiscard]] Result directory_report(const protocol::ReadFileReply& reply, std::uint64_t budget);

} // namespace berth::tools

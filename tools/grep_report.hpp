#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::tools {

/// How the matches were asked for, as far as the report depends on it.
struct GrepView {
    std::string pattern;
    protocol::GrepMode mode = protocol::GrepMode::content;
    std::uint64_t offset = 0;
    bool groups = false; ///< with context: "--" between lines that are not adjacent
    bool no_ignore = false;
    bool dot_stops_at_newline = false; ///< multiline, and the pattern has a '.' without (?s)
    bool word_edges = false;           ///< the pattern has \< or \>, which RE2 takes literally
    bool chooses = false;              ///< by include or type
    std::uint64_t budget = 0;          ///< characters of text
};

/// Data: schemas/tools/grep_files.output.json.
[[nodiscard]] Result grep_report(const GrepView& view, const protocol::GrepReply& reply);

/// Whether a '.' of `pattern` (RE2 syntax) cannot match a newline, which users of other tools do
/// not expect of multiline.
[[nodiscard]] bool dot_stops_at_newline(std::string_view pattern);

} // namespace berth::tools

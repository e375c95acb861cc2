#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/notebook.hpp"
#include "tools/tool.hpp"

#include <cstdint>

namespace berth::tools {

/// Which cells are asked for.
struct CellRange {
    std::int64_t offset = 0; ///< cells to skip; negative: from the end
    std::uint64_t limit = 0;
};

/// The cells of `range`, as many of them as fit into the budget, with their outputs; pictures among
/// these are shown as long as they are within settings.read_image together. `reply`: the file they
/// are from.
[[nodiscard]] Result notebook_report(const protocol::ReadFileReply& reply, const Notebook& notebook,
                                     const CellRange& range, const Settings& settings);

} // namespace berth::tools

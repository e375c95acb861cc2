#pragma once

#include "sandbox/workspace/area.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace berth::workspace {

/// One file of a publication.
struct Placement {
    std::string temporary; ///< its name among the temporary files
    std::string path;      ///< normalised
    bool replaces = false; ///< a file was there
};

/// The journal says, on the disk, what a publication of several files is about to change. While it
/// is there the publication has not happened, whatever is in place already: whoever finds it undoes
/// it. Its removal is the moment at which all files become visible. What a file replaces is kept
/// under replaced_name() until then.
///
/// All of these: call with the exclusive lock, is_publication_open() with any.
[[nodiscard]] bool is_publication_open(const Area& area) noexcept;

/// `placements`: some. Throws Error. Flushed to the disk.
void open_publication(const Area& area, const std::vector<Placement>& placements);

/// Throws Error; the publication is then still open. Flushed to the disk.
void close_publication(const Area& area);

/// Puts back what was replaced, removes what was new, and closes. It may be cut short and done
/// again. Throws Error when it cannot: the workspace stays closed rather than show a part.
void undo_publication(const Area& area);

[[nodiscard]] std::string replaced_name(const std::string& temporary);
[[nodiscard]] bool is_replaced_name(std::string_view name) noexcept;

} // namespace berth::workspace

#pragma once

#include "sandbox/workspace/area.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace berth::workspace {

/// An area that is written to. Whoever sweeps must know whether a temporary file's writer lives,
/// and no clock says it: one jumps, a host sleeps, a large save takes as long as it takes. So each
/// writer has a mark, which is in the names of its files: the number of a byte of the folder `tmp`
/// (there need be none) that it holds a lock on, of the kind that belongs to an open file. The
/// kernel lets it go when the process dies in whatever way, and never before. Nothing is written
/// for it, so a save is not slower by it.
class WriterArea {
  public:
    /// Makes what is missing, and sweeps. Throws as make_area() and AreaLock.
    WriterArea(const std::string& root, const std::string& principal);

    [[nodiscard]] const Area& area() const noexcept { return area_; }

    /// A new name for a temporary file. Throws std::system_error.
    [[nodiscard]] std::string new_name() const;

  private:
    Area area_; ///< the lock is that of its `temporary`
    std::string mark_;
};

/// The mark in the name of a temporary file; nothing in one of an earlier release, whose writers
/// held nothing.
[[nodiscard]] std::optional<std::string_view> mark_of(std::string_view name) noexcept;

/// Whether a writer that lives has the mark. What cannot be found out counts as held. `temporary`:
/// opened by who asks, since nobody's own locks are told.
[[nodiscard]] bool is_held(int temporary, std::string_view mark) noexcept;

} // namespace berth::workspace

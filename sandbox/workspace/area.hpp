#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <string>

namespace berth::workspace {

/// The open directories of one principal.
struct Area {
    UniqueFd own;       ///< holds the two others, the journal, and the lock
    UniqueFd files;     ///< the tree of what is stored
    UniqueFd temporary; ///< what is being written; never listed, swept after a crash
};

/// Makes what is missing. Throws Error, permission_denied where `root` belongs to, or may be
/// written to by, another user than the server's.
[[nodiscard]] Area make_area(const std::string& root, const std::string& principal);

/// Makes nothing: all invalid when the principal has stored nothing yet. Throws the same.
[[nodiscard]] Area open_area(const std::string& root, const std::string& principal);

/// Who reads an area holds it shared, who changes the tree of its files holds it exclusively, in
/// whatever process: so nobody sees a part of what is placed together. A publication that a crash
/// cut short is undone before the lock is had.
class AreaLock {
  public:
    enum class Mode { shared, exclusive };

    /// `area` must outlive the lock. Throws Error(busy) when it is not to be had for a minute, and
    /// what undo_publication() throws.
    AreaLock(const Area& area, Mode mode);

  private:
    UniqueFd fd_; ///< closing it lets the lock go
};

/// Removes what writers that died left in `temporary`. Call with the exclusive lock.
void sweep(const Area& area);

} // namespace berth::workspace

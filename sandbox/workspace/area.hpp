#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <chrono>
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

/// The directory of all principals; invalid where nobody has stored anything yet. Throws the same.
[[nodiscard]] UniqueFd open_top(const std::string& root);

/// As open_area(), of the principal whose folder in `top` has this name.
[[nodiscard]] Area open_area_in(const UniqueFd& top, const std::string& root,
                                const std::string& folder);

/// A folder of `directory`; never follows a symlink. Invalid, and errno set, when that fails.
[[nodiscard]] UniqueFd open_folder(int directory, const std::string& name) noexcept;

/// Who reads an area holds it shared, who changes the tree of its files holds it exclusively, in
/// whatever process: so nobody sees a part of what is placed together. A publication that a crash
/// cut short is undone before the lock is had.
class AreaLock {
  public:
    enum class Mode { shared, exclusive };

    /// A process that was stopped while it held the lock must not hold every other call for ever.
    static constexpr std::chrono::milliseconds usual_patience{60'000};

    /// `area` must outlive the lock. Throws Error(busy) when it is not to be had for so long, and
    /// what undo_publication() throws.
    AreaLock(const Area& area, Mode mode, std::chrono::milliseconds patience = usual_patience);

  private:
    UniqueFd fd_; ///< closing it lets the lock go
};

} // namespace berth::workspace

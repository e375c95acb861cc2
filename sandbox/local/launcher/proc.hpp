#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launcher/root.hpp"

namespace berth::local {

/// A new /proc of the child's own pid namespace.
void mount_proc(const Root& root);

/// In a user namespace the kernel makes a proc only for who sees one already: else it would show
/// what was covered. So where the host's root was left ahead, one of the host's is kept in a mount
/// namespace of its own, which the child is born in and leaves with its own proc.
class ProcNamespace {
  public:
    /// Before there is a Root, whose place it needs. The proc is the host's.
    ProcNamespace();

    /// That proc.
    [[nodiscard]] int proc() const noexcept { return tree_.get(); }

    /// Enters the root and lets go of everything else; this process is in a namespace then that
    /// shows the root and the host's proc. The root's own shows the root alone.
    void split_off(const Root& root);

    /// Whether the kernel makes a proc beside that one, by a try. In a container it may be covered
    /// in part, and another have been seen in what this process has let go of.
    [[nodiscard]] static bool can_make_proc();

    /// In the child: mount_proc(), and into the root's own.
    void leave(const Root& root);

  private:
    UniqueFd tree_;
    UniqueFd own_; ///< the root's
};

} // namespace berth::local

#pragma once

#include "sandbox/base/release_memory.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/place_identity.hpp"

#include <optional>
#include <string>
#include <vector>

namespace berth::local {

/// A root with the parts in it that are the same for many machines, put together as root before
/// there is a machine to make. A process of its own, its keeper, has it in a mount namespace of its
/// own, which nobody else can see, and clones it for each launcher: its mounts are the machine's,
/// its file system is one for all of them, read-only, and belongs to the host's root. A copy that a
/// fork makes of this object is another one's use of the same root; the keeper ends with the last,
/// or when a mount of the host has come or gone.
class PreparedRoot {
  public:
    /// `encoded`: RootParts. Nothing where it cannot be made: then the launch makes a root, and
    /// says what is wrong.
    [[nodiscard]] static std::optional<PreparedRoot> make(const std::string& encoded) noexcept;

    /// False when the keeper has ended, or the host has put something else in the place of a source
    /// (as ldconfig does with its cache).
    [[nodiscard]] bool is_current() const;

    /// Has the keeper clone the mount now, for take_for(). False when it has ended.
    [[nodiscard]] bool clone_ahead() noexcept;

    /// Once it was cloned; polled with POLLPRI: ready when a mount of the host was made or taken
    /// away since. The root shall be dropped then: it would show the old one, and keep its file
    /// system from ending.
    [[nodiscard]] int mounts_fd() const noexcept { return mounts_.get(); }

    /// Once a machine is wanted: looks at the sources for take_for(), which then does not.
    void look();

    /// The mount that was cloned ahead. Nothing when the spec has another base, or something to
    /// mount where the root has no place for it, or when what it shows is not the host's present.
    /// Once only.
    [[nodiscard]] UniqueFd take_for(const LaunchSpec& spec);

    /// The mount that was cloned ahead, whatever has become of the host since.
    [[nodiscard]] UniqueFd take() { return std::move(mount_); }

    /// What it keeps open and in memory: in a process that needs nothing of it any more.
    void forget() { release_memory(*this, PreparedRoot()); }

  private:
    PreparedRoot() = default;

    [[nodiscard]] bool sources_are_there() const;
    [[nodiscard]] bool has_places_for(const std::vector<Bind>& binds) const;

    // Of the parts no more than this: between the strings of decoded ones are holes, in which the
    // launchers would write that are forked from who has them, and so get those pages anew.
    std::string encoded_;
    std::string sources_;                ///< of the binds and covers, each with a NUL behind it
    std::vector<PlaceIdentity> at_them_; ///< what is there
    std::optional<bool> still_there_;    ///< by look(), until it is taken
    UniqueFd keeper_;                    ///< a socket
    UniqueFd mount_;                     ///< that was cloned ahead, and since then:
    UniqueFd mounts_;
};

} // namespace berth::local

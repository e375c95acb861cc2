#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/place_identity.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::local {

/// A root with the parts in it that are the same for all machines, put together as root before
/// there is a machine to make: a detached mount, which nothing and nobody can see yet.
class PreparedRoot {
  public:
    /// Nothing where it cannot be made: then the launch makes it, and says what is wrong.
    [[nodiscard]] static std::optional<PreparedRoot> make(const RootParts& parts) noexcept;

    /// Polled with POLLPRI: ready when a mount of the host was made or taken away since. The root
    /// shall be dropped then: it would show the old one, and keep its file system from ending.
    [[nodiscard]] int mounts_fd() const noexcept { return mounts_.get(); }

    /// The mount, the folders in it given to the session's user, who will add to them. Nothing when
    /// the spec has another base, or the host has put something else in the place of a source (as
    /// ldconfig does with its cache). Once only.
    [[nodiscard]] UniqueFd take_for(const LaunchSpec& spec);

  private:
    PreparedRoot() = default;

    [[nodiscard]] bool is_current() const;

    std::string encoded_;                                        ///< the parts
    std::vector<std::pair<std::string, PlaceIdentity>> sources_; ///< paths, and what is there
    std::vector<std::string> own_;                               ///< what the tmpfs itself has
    UniqueFd mounts_;
    UniqueFd mount_;
};

} // namespace berth::local

#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/handover.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/session_folder.hpp"
#include "sandbox/local/spare_folder.hpp"
#include "sandbox/local/uid_range.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace berth::local {

/// What the creation of one machine makes on the server's side. The destructor undoes it, as far as
/// it was made, unless it was kept. Used by one thread.
class Creation {
  public:
    /// Where, and for whom. The descriptor is open for as long as the creation lives.
    struct Place {
        std::string state; ///< real path of the state directory
        int state_fd = -1;
        std::string id;                   ///< the machine's
        std::string folder;               ///< the session's, below sessions
        std::vector<std::string> cgroups; ///< of the machine, in each hierarchy
        bool privileged = false;
    };

    /// Nothing is made yet. With `ends_with_server` the machine gets a lifetime pipe.
    /// `spare`: what the session's folder is made of, where there is one.
    Creation(Place place, UidRange::Claim uid, std::unique_ptr<SpareFolder> spare,
             bool ends_with_server);
    ~Creation();
    Creation(const Creation&) = delete;
    Creation& operator=(const Creation&) = delete;

    /// The read end of the lifetime pipe for the guest, or -1.
    [[nodiscard]] int lifetime() const noexcept { return lifetime_read_.get(); }

    /// The server's part of the launch, while the launcher works on its own. Throws Failure, Error,
    /// std::system_error.
    /// `certificates`: see SessionFolder::add_certificates(); of none there is no folder.
    [[nodiscard]] Handover
    make(const LaunchSpec& launch, const std::string& generation,
         const std::vector<std::pair<std::string, std::string>>& certificates);

    /// False when there was one before, or make() has not come so far.
    [[nodiscard]] bool made_home() const noexcept { return !had_home_; }

    /// As in the record of what make() has made.
    [[nodiscard]] const std::string& note() const noexcept { return note_; }

    /// Why the kernel does not keep session.quota; empty: it does.
    [[nodiscard]] const std::string& quota_obstacle() const noexcept { return quota_obstacle_; }

    /// What is left of it, for whoever has the time to remove it.
    [[nodiscard]] std::unique_ptr<SpareFolder> take_spare() noexcept { return std::move(spare_); }

    /// The machine lives: nothing is undone any more. Returns the write end of the lifetime pipe,
    /// empty without one; the machine ends when it is closed.
    [[nodiscard]] UniqueFd keep() noexcept;

  private:
    void undo();

    const Place place_;
    UidRange::Claim uid_;
    std::unique_ptr<SpareFolder> spare_;
    UniqueFd lifetime_read_;
    UniqueFd lifetime_write_;
    std::optional<SessionFolder> folder_;
    // Until it is known that there was none: what is in it may be years old.
    bool had_home_ = true;
    std::string note_;
    std::string quota_obstacle_;
    bool kept_ = false;
};

} // namespace berth::local

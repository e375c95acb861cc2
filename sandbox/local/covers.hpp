#pragma once

#include "sandbox/local/hidden_folders.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/place_identity.hpp"

#include <exception>
#include <mutex>
#include <optional>
#include <vector>

namespace berth::local {

/// What the host shows is not what a machine was begun with: it is to be made anew.
class CoversChanged : public std::exception {
  public:
    [[nodiscard]] const char* what() const noexcept override
    {
        return "the host's mounts change while the sandbox is made";
    }
};

/// What is covered in a server's machines. A machine is begun with what was found for the last one,
/// and the look that is due for each is taken while it is made: the look is not waited for, and
/// nothing runs in a machine that it does not fit. Safe for several threads at once.
class Covers {
  public:
    /// What a machine is begun with.
    struct Begun {
        std::vector<Cover> covers;
        std::vector<PlaceIdentity> folders; ///< berth's own and the home, which they were then
    };

    Covers(std::vector<Bind> binds, Private wanted);

    /// What was found last; looks when that was never done. Throws as find_hidden().
    [[nodiscard]] std::vector<Cover> latest();

    /// The latest(), for require().
    [[nodiscard]] Begun begin();

    /// Looks anew: since the last time the host may have mounted something, turned a link, or
    /// removed a folder of berth's, which then could not be covered, though this or another server
    /// may have made it again by now. Throws CoversChanged when that is not what `begun` has, and
    /// as find_hidden().
    void require(const Begun& begun);

  private:
    std::vector<Cover> look(bool& made);

    const std::vector<Bind> binds_;
    const Private wanted_;
    std::mutex mutex_;
    std::optional<std::vector<Cover>> latest_; ///< guarded by mutex_
};

} // namespace berth::local

#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <string>

namespace berth::guest {

/// Keeps the guest behind its commands when the kernel, out of memory, looks for a process to kill:
/// without it a swarm of small commands could have their guest chosen as the largest.
///
/// Nothing is ever lowered below what the guest was started with: commands inherit how far they
/// may lower themselves, and would be spared at the host's expense.
class OomScore {
  public:
    /// Changes nothing.
    OomScore() = default;

    /// Of this process, while it is dumpable: afterwards its files in /proc are root's. Where there
    /// is no such file it changes nothing.
    [[nodiscard]] static OomScore of_this_process();

    /// The same for a guest that is root in a machine of its own: it is spared before all others,
    /// and processes are started with what it had. Where its root may not do that
    /// (CAP_SYS_RESOURCE) it is as low as anybody may be, and where that is no lower, as
    /// of_this_process().
    [[nodiscard]] static OomScore spared();

    /// As long as it lives, processes are started with a score of `more` above the guest's own.
    class Raised {
      public:
        explicit Raised(const OomScore& score) noexcept;
        ~Raised();
        Raised(const Raised&) = delete;
        Raised& operator=(const Raised&) = delete;

      private:
        const OomScore& score_;
    };

    static constexpr int more = 500; ///< as if they held half of the host's memory besides

  private:
    UniqueFd file_;
    std::string own_;
    std::string raised_;
};

} // namespace berth::guest

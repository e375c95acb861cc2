#pragma once

#include <chrono>
#include <functional>
#include <string_view>

namespace berth::guest {

/// Freezes all that the commands of a session left running, and nothing of the guest. Belongs to
/// the loop's thread, and does not hold it up.
class Freezer {
  public:
    /// `complete`: nothing of the commands runs, and nothing will before thaw().
    using Done = std::function<void(bool complete)>;

    /// To freeze may take so long: a process that waits for a hung disk in the kernel comes to rest
    /// only when it is back from there.
    static constexpr std::chrono::milliseconds patience{1900};
    /// Between two looks whether all is at rest; each takes twice as long as the one before it.
    static constexpr std::chrono::milliseconds first_step{1};
    static constexpr std::chrono::milliseconds longest_step{50};

    Freezer() = default;
    Freezer(const Freezer&) = delete;
    Freezer& operator=(const Freezer&) = delete;
    virtual ~Freezer() = default;

    /// "cgroup", "signals".
    [[nodiscard]] virtual std::string_view mechanism() const noexcept = 0;

    /// `done` is called once, from the loop, within 2 s; not at all after a thaw(). Whatever it is
    /// told, thaw() is to be called some time.
    virtual void freeze(Done done) = 0;

    /// What had been stopped before stays so. Of what is not frozen nothing happens. Cannot fail.
    virtual void thaw() noexcept = 0;
};

} // namespace berth::guest

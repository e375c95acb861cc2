#pragma once

#include "sandbox/guest/protection/protected_scan.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/messages.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::guest {

/// What is known of a session's protected files, so that a change is told, and told once: to every
/// command that ran when it came, else to the next one. Looked at behind each command alone; which
/// of the two it was says the time that the kernel gives to a change. Thread-safe; looking blocks.
class ProtectedBook {
  public:
    using Scan = std::function<ProtectedScan(const protocol::Protection&,
                                             const std::vector<std::string>& places,
                                             const protocol::GuestConfig&)>;

    /// `scan`: by what it looks at the disk; a test's may fail.
    explicit ProtectedBook(const protocol::GuestConfig& config, Scan scan = scan_protected)
        : config_(config), scan_(std::move(scan))
    {
    }

    /// The first look at a folder finds nothing but what changed since `began` (stamp_time_now()):
    /// before, nobody knew what there was. At most `most_told` changes. Throws what `scan` throws.
    [[nodiscard]] std::vector<protocol::ProtectedChange>
    look(const protocol::Protection& protection, const std::vector<std::string>& places,
         std::int64_t began);

    /// The first look at a folder where it is not known yet, while a command runs that has just
    /// begun: what that changes meanwhile it is still told of.
    void get_to_know(const protocol::Protection& protection,
                     const std::vector<std::string>& places) noexcept;

    /// One at a time: false where another is under way, perhaps on a disk that does not answer.
    /// get_to_know() ends it.
    [[nodiscard]] bool begin_to_know() noexcept { return !knowing_.exchange(true); }

    void end_knowing() noexcept { knowing_ = false; }

    /// Found too late for the command's own result: the next look tells them, as from before.
    void keep(std::vector<protocol::ProtectedChange> changes);

    /// A look takes so long that nobody waits for it any more, or such a one has ended. While there
    /// is one none should be begun: on a disk that does not answer each would hold a thread.
    void note_late(bool ended) noexcept { late_ += ended ? -1 : 1; }

    [[nodiscard]] bool is_late() const noexcept { return late_ > 0; }

    /// It has been looked at.
    [[nodiscard]] bool knows(const std::string& place) const;

    /// Written by a tool, whose own result tells it.
    void wrote(const std::string& path);

    static constexpr std::size_t most_told = 50;

  private:
    struct Known {
        std::string folder;
        FileStamp stamp;
        std::int64_t noticed = 0;
    };

    struct Removed {
        std::string path;
        std::int64_t noticed;
    };

    using Changes = std::vector<protocol::ProtectedChange>;

    Changes take(const protocol::Protection& protection, const std::vector<std::string>& places,
                 std::int64_t began, std::int64_t noticed);
    void take_present(const ProtectedScan& seen, std::int64_t began, std::int64_t now,
                      Changes& changes);
    [[nodiscard]] Changes take_absent(const ProtectedScan& seen, std::int64_t now);
    void tell_removed(std::int64_t began, Changes& changes) const;
    void make_room(const ProtectedScan& seen);

    const protocol::GuestConfig& config_;
    const Scan scan_;
    mutable std::mutex mutex_;
    std::set<std::string> folders_;
    std::map<std::string, Known> files_;
    std::deque<Removed> removed_; ///< the newest last
    Changes kept_;
    std::atomic<int> late_{0};
    std::atomic<bool> knowing_{false};
};

} // namespace berth::guest

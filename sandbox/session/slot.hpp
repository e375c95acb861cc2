#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/told.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Of the session manager alone.

namespace berth::session {

/// What this server knows of one session.
struct Slot : std::enable_shared_from_this<Slot> {
    /// Where the books do not answer calls go on all the same: what a call tried there in vain none
    /// tries again for so many times as long as that took.
    static constexpr int rest = 10;

    SessionId id; ///< an unnamed one has its random name
    std::string key;
    bool unnamed = false;

    std::timed_mutex making; ///< held while the machine is made or ended; taken before `mutex`
    std::unique_ptr<Registry::Hold> claim; ///< under `making`
    UniqueFd claim_here;                   ///< MachineKeeper::hold_claim_here(); under `making`

    std::mutex mutex; ///< guards what follows; held for moments only
    std::shared_ptr<sandbox::Sandbox> sandbox;
    /// A machine that a call took for lost, until the next one is there: it may be the same, and
    /// must not think meanwhile that its last client has left.
    std::shared_ptr<sandbox::Sandbox> reported;
    /// The `sandbox` that depart() has left. It stays there: a call of it that outlives the server
    /// notes its end.
    std::shared_ptr<sandbox::Sandbox> departed;
    std::uint64_t version = 0;           ///< of the settings by which `sandbox` is as it should be
    std::uint64_t tried = 0;             ///< of those that it was to be changed to last
    BootClock::time_point change_from{}; ///< it is not tried before
    std::optional<MachineKeeper::Pending> pending; ///< see MachineKeeper::Wanted
    std::string told_settings;                     ///< see MachineKeeper::Wanted
    MachineKeeper::Seen seen;
    /// Of either, as the books had it when it was obtained, without what its machine has itself
    /// (see remembered()): that is a quarter of what a server has of each session.
    Record record;
    Told untold;              ///< the next lease has it
    Untold taken;             ///< from the books, which keep it until it was read; another is put
                              ///< here under `making` too
    bool others_tell = false; ///< what they keep, and may die before they have
    BootClock::time_point ask_from{};     ///< calls do not ask before whether they still do
    BootClock::time_point settled_from{}; ///< calls do not try before
    /// A call was given up while its guest did not answer, or a result reached nobody: until then
    /// each lease asks for what nobody has seen, also a guest that does not say that there is any.
    BootClock::time_point doubtful_until{};
    BootClock::time_point touched;

    std::mutex looking; ///< held by the call that looks at the sources of mounts
    std::vector<std::string> told_replaced; ///< under `looking`; as the latest notice said

    /// Of an unnamed session: nobody shall take it for one whose server is dead. Under `making`.
    /// Throws Error(busy) where somebody does just now.
    void hold_claim(const MachineKeeper& keeper, Registry& registry);

    /// The books let go of what was told from them and read. Where they cannot it stays for a later
    /// call. In the thread of a call: the one that learns that it was read waits for nobody.
    void settle_told(MachineKeeper& keeper);
    /// The same at the end of the server, which waits for the session's lock.
    void settle_told(MachineKeeper& keeper, const Deadline& patience);

    /// At the end of the server: what was taken and not read another may tell from here on.
    void let_others_tell() noexcept;

    /// At the end of the server: what nobody else has the books keep for whoever comes next. Of an
    /// unnamed session nobody does.
    void keep_unheard(MachineKeeper& keeper, const Deadline& patience);

    /// At the end of the server: its machine is left, by who does not see that for itself, and put
    /// to sleep or ended as the session has it; `usual`: where nobody says how.
    void depart(MachineKeeper& keeper, protocol::OnDisconnect usual) noexcept;

    /// At the end of the server, of a session without a name: it ends with it. `far`: by when a
    /// machine that is elsewhere has to have ended; else whoever clears up next ends it, and `left`
    /// is told (Settings::on_left).
    void end_unnamed(MachineKeeper& keeper, std::chrono::seconds patience, const Deadline& far,
                     const TellOfLeft& left);

    /// Under `mutex`: the settings of this server have changed since its sandbox was obtained, or
    /// what could not be changed then is to be tried again.
    [[nodiscard]] bool is_due(std::uint64_t present) const
    {
        return sandbox && version < present &&
               (tried < present || (tried == present && BootClock::now() >= change_from));
    }

    /// Under `mutex`: another server was about to tell something, and may not be any more.
    [[nodiscard]] bool is_to_ask() const { return others_tell && BootClock::now() >= ask_from; }

    /// Under `mutex`: `record`, of a machine that was just obtained.
    void remember(Record obtained);

    /// What is known without the books; nothing where there is no sandbox, nor was one.
    [[nodiscard]] std::optional<Record> remembered();
};

/// One call's hold of the session's sandbox.
class Use {
  public:
    /// Of a call that takes longer its end is noted too: then the session was in use.
    static constexpr std::chrono::seconds long_call{1};

    Use(std::shared_ptr<Slot> slot, std::shared_ptr<Registry> registry,
        std::shared_ptr<sandbox::Sandbox> sandbox)
        : registry_(std::move(registry)), slot_(std::move(slot)), sandbox_(std::move(sandbox))
    {
    }

    ~Use()
    {
        const auto now = BootClock::now();
        if (now - begin_ < long_call) {
            return;
        }
        {
            const std::lock_guard lock(slot_->mutex);
            if (slot_->sandbox != sandbox_) {
                return; // lost or ended meanwhile: not used until now
            }
            slot_->touched = now;
        }
        registry_->touch(slot_->key);
    }

    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    /// The sandbox, for as long as which this one lives.
    [[nodiscard]] static std::shared_ptr<sandbox::Sandbox> sandbox_of(std::shared_ptr<Use> use)
    {
        auto* const sandbox = use->sandbox_.get();
        return {std::move(use), sandbox};
    }

  private:
    std::shared_ptr<Registry> registry_; ///< outlives what the slot has claimed in it
    std::shared_ptr<Slot> slot_;
    std::shared_ptr<sandbox::Sandbox> sandbox_;
    BootClock::time_point begin_ = BootClock::now();
};

} // namespace berth::session

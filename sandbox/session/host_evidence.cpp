// The part of the keeper that asks this host, where the books of its sessions are elsewhere.

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/session/machine_keeper.hpp"

#include <exception>
#include <utility>

namespace berth::session {
namespace {

class HoldOfBoth : public Registry::Hold {
  public:
    HoldOfBoth(std::unique_ptr<Registry::Hold> books, UniqueFd host)
        : host_(std::move(host)), books_(std::move(books))
    {
    }

    [[nodiscard]] bool holds() const noexcept override { return books_->holds(); }

    [[nodiscard]] int descriptor() const noexcept override { return host_.get(); }

  private:
    UniqueFd host_; ///< until its process dies; let go of last
    std::unique_ptr<Registry::Hold> books_;
};

} // namespace

bool MachineKeeper::are_books_elsewhere() const
{
    return registry_.is_shared() && backend_.is_bound_to_host();
}

/// Whether its machine and home are another host's, or in another state directory: there is nothing
/// of it here to be locked.
bool MachineKeeper::is_foreign(const std::string& key) const
{
    try {
        const auto record = registry_.find(key);
        return record && !is_ours(*record);
    } catch (const DamagedRecord&) {
        return false; // it may be ours
    }
}

std::unique_ptr<Registry::Hold> MachineKeeper::lock(const std::string& key,
                                                    const Deadline& deadline) const
{
    auto books = registry_.lock(key, deadline);
    if (!are_books_elsewhere() || is_foreign(key)) {
        return books;
    }
    UniqueFd host = host_.lock(key, deadline);
    if (!host) {
        throw Error(ErrorCode::busy,
                    "the session is being made or ended by another server of this host, which has "
                    "lost the registry's lock and is not done yet",
                    "try again in a few seconds");
    }
    return std::make_unique<HoldOfBoth>(std::move(books), std::move(host));
}

bool MachineKeeper::lives_here(const std::string& key) const
{
    return backend_.is_bound_to_host() && !backend_.is_gone(interrupted(key));
}

bool MachineKeeper::is_confirmed(const std::string& key, const Record& record) const
{
    return !are_books_elsewhere() ||
           (!record.mark.empty() && record.mark == host_.mark(key) && !lives_here(key));
}

/// Whether the host has heard of a later use than the record tells of.
bool MachineKeeper::is_old(const std::string& key, const Record& record) const
{
    return are_books_elsewhere() && record.mark != host_.mark(key);
}

/// From here on a record that was written before is none that a home is removed on.
void MachineKeeper::mark(const std::string& key, Record& record) const
{
    if (are_books_elsewhere()) {
        record.mark = random_hex(16);
        host_.set_mark(key, record.mark);
    }
}

void MachineKeeper::begin_keeping(const std::string& key, Record& record) const
{
    mark(key, record);
    record.kept = kept_from_now();
}

void MachineKeeper::note_wanted(const std::string& key) noexcept
{
    try {
        const auto known = registry_.find(key);
        if (!known || !has_no_machine(*known)) {
            return; // the count has not begun
        }
        auto found = lock_existing(key, Deadline::after({}));
        if (found && has_no_machine(found->record)) {
            begin_keeping(key, found->record);
            registry_.put(key, found->record);
        }
    } catch (const std::exception&) {
        return; // in use by another, or the books cannot be written: the refusal itself is told
    }
}

void MachineKeeper::forget(const std::string& key) const
{
    registry_.erase(key);
    if (are_books_elsewhere()) {
        host_.forget(key);
    }
}

} // namespace berth::session

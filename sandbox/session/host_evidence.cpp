// The part of the keeper that asks this host, where the books of its sessions are elsewhere.

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/base/wall_time.hpp"
#include "sandbox/session/machine_keeper.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace berth::session {
namespace {

/// Whoever looks whether the server of an unnamed session lives has its lock for a moment.
constexpr std::chrono::seconds claim_patience{1};

std::optional<Record> found_by_now(Registry& registry, const std::string& key) noexcept
{
    try {
        return registry.find(key);
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

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

/// Who is refused is told whom it waits for: one that stands still would keep it for ever. Of a
/// session that nobody makes `refusal` as it is.
Error MachineKeeper::with_maker(const Error& refusal, const std::string& key) const
{
    const auto record = found_by_now(registry_, key);
    if (!record || record->state != State::creating) {
        return refusal;
    }
    const auto who = visible(record->owner) + (settings_.place ? "" : " on this host");
    Error waiting(ErrorCode::busy,
                  std::string(refusal.what()) + " (" + who + " makes it since " +
                      rfc3339(record->last_used) + ')',
                  "Try again in a few seconds. Where that does not help, look at that process: "
                  "one that stands still (state T) `kill -CONT` lets go on; after `kill -KILL` "
                  "of it the next call begins anew.");
    waiting.with_details_of(refusal);
    return waiting;
}

std::unique_ptr<Registry::Hold> MachineKeeper::lock_books(const std::string& key,
                                                          const Deadline& deadline) const
{
    try {
        return registry_.lock(key, deadline);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy) {
            throw;
        }
        throw Error(with_maker(error, key));
    }
}

std::unique_ptr<Registry::Hold> MachineKeeper::lock(const std::string& key,
                                                    const Deadline& deadline) const
{
    auto books = lock_books(key, deadline);
    if (!are_books_elsewhere() || is_foreign(key)) {
        return books;
    }
    UniqueFd host = host_.lock(key, deadline);
    if (!host) {
        // One that stands still has lost the registry's lock, and keeps this one.
        throw Error(with_maker(
            Error(ErrorCode::busy,
                  "the session is being made or ended by another server of this host, which has "
                  "lost the registry's lock and is not done yet",
                  "try again in a few seconds"),
            key));
    }
    return std::make_unique<HoldOfBoth>(std::move(books), std::move(host));
}

bool MachineKeeper::lives_here(const std::string& key) const
{
    return backend_.is_bound_to_host() && !backend_.is_gone(machine_of_key(key));
}

bool MachineKeeper::is_confirmed(const std::string& key, const Record& record) const
{
    return !are_books_elsewhere() ||
           (!record.mark.empty() && record.mark == host_.mark(key) && !lives_here(key));
}

bool MachineKeeper::is_unused_for(const Record& record, std::chrono::seconds time) const
{
    if (backend_.is_bound_to_host()) {
        return true;
    }
    const auto unused = backend_.unused_for(record.machine);
    return unused && *unused >= time;
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
    renew_machine_here(key, record);
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
    if (registry_.is_shared()) {
        host_.forget(key);
    }
}

void MachineKeeper::hold_claim_here(const std::string& key, UniqueFd& held) const
{
    if (!registry_.is_shared() || host_.is_claim(key, held.get())) {
        return;
    }
    try {
        held = host_.claim(key, Deadline::after(claim_patience));
    } catch (const Error&) {
        if (backend_.is_bound_to_host()) {
            throw;
        }
        held.reset(); // a machine elsewhere needs no folder of this host: the books' claim is all
        return;
    }
    if (!held) { // without it whoever clears up would take this server for dead
        throw Error(ErrorCode::busy, "the session is being cleared up by another server",
                    "try again in a few seconds");
    }
}

/// Its host knows at once what shared books learn when a claim lapses; and of a server that lives,
/// but stands still or cannot reach the books, it knows better than they.
Ended MachineKeeper::collect_unnamed(const std::string& key, const Record& record, AtEnd files,
                                     const std::stop_token& stop)
{
    const auto server = registry_.is_shared() ? host_.server_of(key) : HostFolders::Server();
    if (server.lives || (!server.dead && outlives_its_claim(key, record))) {
        return {};
    }
    if (const auto claim = server.dead ? registry_.claim_of_dead(key) : registry_.claim(key)) {
        return end(key, {.purge = true, .files = files, .stop = stop});
    }
    Ended result;
    result.lapses_in = registry_.silent_claim(key);
    return result;
}

} // namespace berth::session

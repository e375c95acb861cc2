#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/session/kept_time.hpp"
#include "sandbox/session/key.hpp"
#include "sandbox/session/lifecycle.hpp"
#include "sandbox/session/place.hpp"
#include "sandbox/session/settings.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::session {

/// What is remembered of one session.
struct Record {
    SessionId id;
    bool unnamed = false; ///< ends with the server that made it
    State state = State::absent;
    std::string why;                ///< of the state; compared with what other releases wrote
    sandbox::MachineRecord machine; ///< of the present machine, or of the last one
    std::string token;              ///< the guest's secret; never in a log, never in the JSON
    /// Of the present machine, or of the last one; nothing where that is not known.
    std::optional<Conditions> made_with;
    std::chrono::system_clock::time_point created;
    std::chrono::system_clock::time_point last_used; ///< of the session, not of its record
    /// The same, for who decides by it: by a clock that nobody sets. Nothing in books of releases
    /// that did not note it.
    std::optional<HostTime> used;
    /// When `created` was noted its home was there already: the books had lost what they knew of
    /// it.
    bool found_home = false;
    Saving saving; ///< of made_with->save_on_end
    /// Why it has another machine than before, as far as nobody is known to have read it.
    std::string news;
    /// The same of commands that ended with machines that it had. A few.
    std::vector<std::string> untold;
    /// Of its last few machines before the present one, those that were ended: generation and why,
    /// for a server whose call was cut off by that.
    std::vector<std::pair<std::string, std::string>> past;
    /// Creations that came to nothing, of machines that are bound to no host: generation, and since
    /// when nobody waits for it. One may still come, and is ended then.
    std::vector<std::pair<std::string, std::chrono::system_clock::time_point>> late;
    /// Somebody ends its machine: written before anything of it is, for one who dies meanwhile.
    bool ending = false;
    /// Its home goes too; the same. Until the session has another machine.
    bool purging = false;
    /// Since it has no machine; nothing while it has one, and where nobody has counted yet.
    std::optional<KeptTime> kept;
    /// The key of a session whose home this one is about to have, or has while the books still tell
    /// of both (docs/adr/0023-adopt.md); empty: none.
    std::string adopting;
    /// A server was about to change what its machine can reach, and has not said how that ended.
    bool network_unsure = false;
    /// Rises with each machine of the session. 0: none was ever ready (what remained of the first
    /// was collected), 1: this is the first. Not higher than what a server has seen of the key:
    /// another session has that since. It keeps nobody from writing: the lock does.
    std::uint64_t epoch = 0;
    std::string owner; ///< the server that made the machine, for people
    /// Of a machine that is bound to a host, in books that several hosts write in.
    std::optional<Place> place;
    /// Of the same: what that host has noted beside the home when a machine was last wanted. Where
    /// it has noted another the record is an old one, of books that came back as they once were.
    std::string mark;

    friend bool operator==(const Record&, const Record&) = default;
};

/// Its home is kept, and nothing else.
[[nodiscard]] inline bool has_no_machine(const Record& record) noexcept
{
    return record.state == State::ended || record.state == State::lost;
}

/// Whether something of its home is still to be saved (session.save_on_end) before that may go.
[[nodiscard]] inline bool owes_files(const Record& record) noexcept
{
    return record.saving.due && record.made_with && !record.made_with->save_on_end.patterns.empty();
}

/// What is kept as a session's record is none, and never will be. Its code is backend_error.
class DamagedRecord : public Error {
  public:
    using Error::Error;
};

/// The books of all sessions, shared by every server of one state directory, or of one Redis
/// (make_redis_registry). Keys are key_hash(). Thread-safe.
class Registry {
  public:
    /// Something held until it is destroyed, or its process dies however it dies: in the books of
    /// one host until that very moment, in shared ones for some seconds more. Must not outlive its
    /// registry.
    class Hold {
      public:
        Hold() = default;
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;
        virtual ~Hold() = default;

        /// False when others could hold the same now: whoever deleted the session has deleted
        /// what is held with it, or shared books have not heard of this server for too long.
        [[nodiscard]] virtual bool holds() const noexcept = 0;

        /// Of a lock that this host's kernel keeps: whoever has it too keeps it from others, also
        /// when this process is gone. -1: it is not of that kind.
        [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
    };

    Registry() = default;
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;
    virtual ~Registry() = default;

    /// Whether servers of other hosts write in it too. Then machines that are bound to a host must
    /// be told from those of another.
    [[nodiscard]] virtual bool is_shared() const noexcept { return false; }

    /// The right to create, replace or destroy the session's machine. Throws Error(busy) when
    /// another has it until the deadline.
    [[nodiscard]] virtual std::unique_ptr<Hold> lock(const std::string& key,
                                                     const Deadline& deadline) = 0;

    /// Proof that the server of an unnamed session lives. Null when another holds it.
    [[nodiscard]] virtual std::unique_ptr<Hold> claim(const std::string& key) = 0;

    /// The same where the server that has it is known to be dead, which shared books learn only
    /// when it lapses.
    [[nodiscard]] virtual std::unique_ptr<Hold> claim_of_dead(const std::string& key)
    {
        return claim(key);
    }

    /// In how long the claim lapses of a server that has not been heard of as it should: it may be
    /// dead, or not reach these books. Nothing: there is none, or whoever has it lives.
    [[nodiscard]] virtual std::optional<std::chrono::milliseconds>
    silent_claim(const std::string& /*key*/)
    {
        return std::nullopt;
    }

    /// For how long these books may still lack what their servers and hosts write again, since they
    /// have lost their data or were restarted a moment ago: who is not in them may well be there.
    /// Nothing: they have all.
    [[nodiscard]] virtual std::optional<std::chrono::milliseconds> settling()
    {
        return std::nullopt;
    }

    /// Throws DamagedRecord that names the place when what is there is no record, another Error
    /// when it cannot be read now: a guess could make a second machine beside a living one.
    [[nodiscard]] virtual std::optional<Record> find(const std::string& key) = 0;

    /// Under lock(); where shared books have given that to another since, throws Error(busy) and
    /// writes nothing. After any other error it may have been written, or may yet be, where books
    /// that did not answer in time carry it out later. A reader sees the old record or the new one,
    /// with its token; in the middle of it, or where the writer died there, that may be the old
    /// record with the new token, which opens no machine: so a token changes only where there is
    /// none that lives.
    virtual void put(const std::string& key, const Record& record) = 0;

    /// Under lock(), as put(). Idempotent.
    virtual void erase(const std::string& key) = 0;

    /// Of a key that has no record: whether erase() has removed that, as far as these books know.
    /// Not where they may have lost it, or are not where they were.
    [[nodiscard]] virtual bool was_erased(const std::string& key) = 0;

    /// The session is in use now. Needs no lock; a session that is gone is ignored.
    virtual void touch(const std::string& key) noexcept = 0;

    /// Of every session there is a record of, in order.
    [[nodiscard]] virtual std::vector<std::string> keys() = 0;

    /// Of every session that has a machine, and perhaps of others: to be counted at each creation,
    /// so where it can be without reading their records.
    [[nodiscard]] virtual std::vector<std::string> may_have_machine() { return keys(); }

    /// Of those keys the ones that may be the principal's; as cheap.
    [[nodiscard]] virtual std::vector<std::string> may_be_of(const std::string& /*principal*/,
                                                             const std::vector<std::string>& keys)
    {
        return keys;
    }

    /// Of what has no record and was not changed for a minute: a server that begins is quicker.
    [[nodiscard]] virtual std::vector<std::string> abandoned() = 0;
};

/// One folder per session below <state_directory>/sessions. Nothing is made before the first
/// lock(), claim() or put(); those throw Error(sandbox_unavailable) for a directory that is on a
/// network file system or that others may write to. `bound`: machines are bound to this host, so
/// that none lives after a power loss; else a record is on the disk when put() returns.
[[nodiscard]] std::unique_ptr<Registry> make_file_registry(const std::string& state_directory,
                                                           bool bound = true);

} // namespace berth::session

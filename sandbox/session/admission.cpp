#include "sandbox/session/admission.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/wall_time.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

namespace berth::session {
namespace {

/// No session's: a hash that no key has, as far as anybody knows.
const std::string& admission_key()
{
    static const std::string key(64, '0');
    return key;
}

/// Leaves nothing in the books when it is over.
class Turn : public Registry::Hold {
  public:
    Turn(Registry& registry, std::unique_ptr<Hold> lock)
        : registry_(registry), lock_(std::move(lock))
    {
    }

    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    ~Turn() override
    {
        try {
            registry_.erase(admission_key());
        } catch (const std::exception&) {
            return; // what stays is found as abandoned
        }
    }

    [[nodiscard]] bool holds() const noexcept override { return lock_->holds(); }

  private:
    Registry& registry_;
    std::unique_ptr<Hold> lock_;
};

} // namespace

struct Admission::Count {
    std::size_t all = 0;
    std::size_t own = 0; ///< of the principal
    /// When the first of them counts no longer, if nobody uses it until then: it ends by itself, or
    /// sleeps as one whose home alone is kept.
    std::optional<std::chrono::system_clock::time_point> first_end;
    std::optional<std::chrono::system_clock::time_point> first_own_end;
};

namespace {

[[noreturn]] void refuse(const std::string& why,
                         std::optional<std::chrono::system_clock::time_point> first_end, bool ends)
{
    Error error(ErrorCode::busy, why,
                (first_end
                     ? "Try again after " + rfc3339(*first_end) + ", when one " +
                           (ends ? "ends" : "counts no longer") + " if nobody uses it until then; "
                     : std::string("Try again when one has ended; ")) +
                    "or `berth sessions kill NAME` on the host ends one and keeps its home.");
    if (first_end) {
        const auto left =
            std::chrono::ceil<std::chrono::seconds>(*first_end - std::chrono::system_clock::now());
        error.with_detail("retry_after", std::to_string(std::max<std::int64_t>(1, left.count())));
    }
    throw Error(error.set_retryable(true));
}

/// Else the caller would be told of his own session that another server makes it.
[[noreturn]] void throw_counting(const Error& busy)
{
    Error error(
        ErrorCode::busy,
        "how many sessions there are (session.max, session.max_per_principal) is being "
        "counted by another server, which is not done yet",
        "Try again in a few seconds. Where that does not help, look for a berth that stands "
        "still (state T): `kill -CONT` lets it go on, and `kill -KILL` ends its wait.");
    throw Error(error.with_details_of(busy).set_retryable(true));
}

} // namespace

Admission::Admission(const Settings& settings, sandbox::Backend& backend, Registry& registry)
    : settings_(settings), backend_(backend), registry_(registry)
{
}

std::unique_ptr<Registry::Hold> Admission::turn() const
{
    try {
        return registry_.lock(admission_key(), Deadline::after(settings_.lock_wait));
    } catch (const Error& error) {
        if (error.code() == ErrorCode::busy && !registry_.settling()) {
            throw_counting(error);
        }
        throw;
    }
}

std::unique_ptr<Registry::Hold> Admission::enter(const SessionId& id, const std::string& key) const
{
    const auto most = settings_.max_sessions;
    const auto most_own = settings_.max_sessions_per_principal;
    if (most == 0 && most_own == 0) {
        return nullptr;
    }
    auto hold = std::make_unique<Turn>(registry_, turn());
    // Of a record is read only what decides: below a limit, none.
    auto known = registry_.may_have_machine();
    if (most == 0 || known.size() < most) {
        known =
            most_own == 0 ? std::vector<std::string>() : registry_.may_be_of(id.principal, known);
        if (most_own == 0 || known.size() < most_own) {
            return hold;
        }
    }
    const auto counted = count(known, id, key);
    if (most_own != 0 && counted.own >= most_own) {
        refuse("session.max_per_principal = " + std::to_string(most_own) + ": " + id.principal +
                   " has so many sessions with a machine already",
               counted.first_own_end, backend_.ends_machines());
    }
    if (most != 0 && counted.all >= most) {
        refuse("session.max = " + std::to_string(most) +
                   ": so many sessions have a machine already",
               counted.first_end, backend_.ends_machines());
    }
    return hold;
}

Admission::Count Admission::count(const std::vector<std::string>& known, const SessionId& id,
                                  const std::string& key) const
{
    Count counted;
    const auto now = std::chrono::system_clock::now();
    for (const auto& other : known) {
        const auto record = machine_of(other);
        if (other == key || !record) {
            continue;
        }
        const auto end = record->made_with ? record->last_used + record->made_with->ttl : now;
        if (!backend_.ends_machines() && !record->unnamed && record->made_with && end <= now) {
            continue; // it sleeps, until its files go too
        }
        const bool is_own = record->id.principal == id.principal;
        counted.all += is_elsewhere(settings_.place, *record) ? 0U : 1U;
        counted.own += is_own ? 1U : 0U;
        if (record->unnamed || end <= now) {
            continue; // ends with its server; is in use, or about to end
        }
        counted.first_end = std::min(counted.first_end.value_or(end), end);
        if (is_own) {
            counted.first_own_end = std::min(counted.first_own_end.value_or(end), end);
        }
    }
    return counted;
}

/// The record of a session that has a machine.
std::optional<Record> Admission::machine_of(const std::string& key) const
{
    try {
        auto record = registry_.find(key);
        return record && has_machine(key, *record) ? record : std::nullopt;
    } catch (const DamagedRecord&) {
        return std::nullopt; // whether it has one nobody can tell; it keeps nobody out
    } catch (const Error&) {
        Record unknown; // cannot be read now: it may have one
        unknown.unnamed = true;
        return unknown;
    }
}

/// Of another host it cannot be told. Of machines that end by nobody but who clears up the books
/// say enough for a limit: whoever has them would be asked for each, and others wait meanwhile.
bool Admission::is_running(const Record& record) const
{
    return record.state == State::running &&
           (record.machine.backend != backend_.name() || is_elsewhere(settings_.place, record) ||
            !backend_.ends_machines() || !backend_.is_gone(record.machine));
}

bool Admission::has_machine(const std::string& key, const Record& record) const
{
    if (record.state != State::creating) {
        return is_running(record);
    }
    try {
        // Whoever makes it has the lock, unless it died.
        const auto lock = registry_.lock(key, Deadline::after({}));
        const auto made = registry_.find(key);
        // It came to nothing, and the lock has made its folder anew. What is in that may be the
        // claim of an unnamed session's server that is just beginning.
        if (const auto claim = made ? nullptr : registry_.claim(key)) {
            registry_.erase(key);
        }
        return made && is_running(*made); // it may have been done since `record` was read
    } catch (const Error&) {
        return true;
    }
}

} // namespace berth::session

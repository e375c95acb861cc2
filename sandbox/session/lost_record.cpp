// The part of the keeper that has a machine back whose record shared books have lost, from what its
// host keeps beside the home.

#include "sandbox/base/error.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/record_codec.hpp"
#include "sandbox/session/session_folders.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace berth::session {
namespace {

/// With the guest's secret and the time of last use, which are not in a record's own text.
std::string text_of_machine(const Record& record)
{
    return record.token + '\n' + (record.used ? to_text(*record.used) : std::string()) + '\n' +
           encode(record);
}

/// Nothing where it is no such text.
std::optional<Record> machine_in(const std::string& text)
{
    const auto first = text.find('\n');
    const auto second = first == std::string::npos ? first : text.find('\n', first + 1);
    if (second == std::string::npos) {
        return std::nullopt;
    }
    try {
        Record record = decode_record(text.substr(second + 1));
        record.token = text.substr(0, first);
        record.used = host_time_from(text.substr(first + 1, second - first - 1));
        return record;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

/// Of servers that were started without the registry.
bool has_books_in_files(const std::string& state_directory, const std::string& key)
{
    std::error_code ignored;
    return std::filesystem::exists(
        SessionFolders(state_directory).path(key) + '/' + file_record_name, ignored);
}

} // namespace

void MachineKeeper::keep_machine_here(const std::string& key, const Record& record) const
{
    if (are_books_elsewhere() && is_ours(record)) {
        host_.keep_machine(key, text_of_machine(record));
    }
}

/// As it is from now on, of a record that is in the books: else it would come back with what was
/// told since, or as that of a machine which was ended. Where there is no room nothing comes back.
void MachineKeeper::renew_machine_here(const std::string& key, const Record& record) const noexcept
{
    if (!are_books_elsewhere() || record.state == State::creating) {
        return; // its mark says that the copy is of an earlier machine
    }
    try {
        keep_machine_here(key, record);
    } catch (const std::exception&) {
        host_.drop_machine(key);
    }
}

/// Of a machine that is about to be undone, under the session's lock.
void MachineKeeper::drop_machine_here(const std::string& key) const noexcept
{
    if (are_books_elsewhere()) {
        host_.drop_machine(key);
    }
}

/// Nothing where it is not of the latest machine that this host was wanted to have.
std::optional<Record> MachineKeeper::copy_of(const std::string& key) const
{
    auto record = machine_in(host_.kept_machine(key));
    if (!record || record->mark.empty() || record->mark != host_.mark(key) || !is_ours(*record) ||
        (record->state != State::running && !has_no_machine(*record))) {
        return std::nullopt;
    }
    record->machine.data["key_hash"] = key;
    record->last_used = host_.last_noted(key);
    return record;
}

/// Books that came back as they were a while ago say that it runs, and its host has kept how it was
/// ended since, with what nobody was told of. True: `record` is that now.
bool MachineKeeper::take_end_kept_here(const std::string& key, Record& record) const
{
    auto kept = are_books_elsewhere() ? copy_of(key) : std::nullopt;
    if (!kept || !has_no_machine(*kept) || kept->machine.generation != record.machine.generation) {
        return false;
    }
    record = *std::move(kept);
    return true;
}

/// Without the home it is what a purge that was cut off has left.
std::optional<Record> MachineKeeper::copy_with_home(const std::string& key) const
{
    return are_books_elsewhere() && !backend_.find_home(key).empty() ? copy_of(key) : std::nullopt;
}

bool MachineKeeper::has_copy(const std::string& key) const
{
    return copy_with_home(key).has_value();
}

/// Under lock(), of a key that has no record, or an old one. One whose machine is gone comes back
/// too: it has what nobody was told of that one's commands, or where its guest noted that.
std::optional<Record> MachineKeeper::put_back(const std::string& key, std::optional<Record> record)
{
    if (!record) {
        return std::nullopt;
    }
    const bool lives = record->state == State::running && backend_.attach(record->machine);
    if (!lives && (lives_here(key) || has_books_in_files(settings_.state_directory, key))) {
        return std::nullopt; // which is another one, or what they tell came after
    }
    registry_.put(key, *record);
    return record;
}

/// Shared books that came back as they were before the key's latest machine, or while it was being
/// made: what its host has kept of that one. Nothing where the record is right, or nobody here
/// knows better: a host may be the one that came back (a backup of its state directory, a power
/// loss).
std::optional<Record> MachineKeeper::kept_later(const Record& record) const
{
    const auto key = record.machine.data.find("key_hash");
    const bool creating = record.state == State::creating;
    if (key == record.machine.data.end() || !is_ours(record) ||
        (!creating && !is_old(key->second, record))) {
        return std::nullopt;
    }
    auto kept = copy_with_home(key->second);
    // A creation that failed has the number of the one behind it, which alone was ever kept here.
    const auto which = [](const Record& of) {
        return std::tuple(of.created, of.epoch, of.state != State::creating);
    };
    const bool is_later =
        kept && (which(*kept) > which(record) ||
                 (creating && kept->machine.generation == record.machine.generation));
    return is_later ? std::move(kept) : std::nullopt;
}

/// Under lock(). The record, or what kept_later() has, which is in the books from now on: by the
/// other one a machine that lives would be ended, with its jobs, and how commands ended since would
/// be told to nobody.
Record MachineKeeper::latest(const std::string& key, Record record)
{
    auto kept = put_back(key, kept_later(record));
    if (kept && has_no_machine(*kept)) { // since when is not for one of the two to say
        begin_keeping(key, *kept);
        registry_.put(key, *kept);
    }
    return kept ? *std::move(kept) : std::move(record);
}

std::vector<std::string> MachineKeeper::lost_machines()
{
    if (!are_books_elsewhere()) {
        return {};
    }
    const auto here = host_.with_machine();
    auto known = registry_.keys();
    std::ranges::sort(known);
    std::vector<std::string> lost;
    std::ranges::set_difference(here, known, std::back_inserter(lost));
    return lost;
}

bool MachineKeeper::restore(const std::string& key)
{
    // Whoever serves an unnamed one writes it again.
    if (!has_copy(key) || registry_.find(key) || host_.server_of(key).lives) {
        return false;
    }
    const auto lock = this->lock(key, Deadline::after({}));
    return !registry_.find(key) && put_back(key, copy_with_home(key)).has_value();
}

/// Only the server of an unnamed session leaves that claim beside the home; but a copy, of
/// whichever machine, that says otherwise is believed: the files go with it.
bool MachineKeeper::end_lost_unnamed(const std::string& key)
{
    const auto is_lost = [&] { return !registry_.find(key) && !lives_here(key); };
    const auto server = host_.server_of(key); // kept: none can begin there meanwhile
    const auto last = machine_in(host_.kept_machine(key));
    if (!server.dead || host_.mark(key).empty() || (last && !last->unnamed) || copy_of(key) ||
        !is_lost()) {
        return false;
    }
    const auto lock = this->lock(key, Deadline::after({}));
    if (!is_lost()) {
        return false;
    }
    destroy(machine_of_key(key), /*purge=*/true, *lock);
    forget(key);
    return true;
}

} // namespace berth::session

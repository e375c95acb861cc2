// The part of the keeper that has a machine back whose record shared books have lost, from what its
// host keeps beside the home.

#include "sandbox/base/error.hpp"
#include "sandbox/session/machine_keeper.hpp"
#include "sandbox/session/record_codec.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
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

} // namespace

/// An unnamed session's ends with the server, which knows of it for as long.
void MachineKeeper::keep_machine_here(const std::string& key, const Record& record) const
{
    if (are_books_elsewhere() && !record.unnamed) {
        host_.keep_machine(key, text_of_machine(record));
    }
}

/// Under lock(), of a key that has no record. The copy counts only for the machine that it is of:
/// the host has noted no later one, and its guest is there.
std::optional<Record> MachineKeeper::restored(const std::string& key)
{
    if (!are_books_elsewhere()) {
        return std::nullopt;
    }
    auto record = machine_in(host_.kept_machine(key));
    if (!record || record->state != State::running || record->mark.empty() ||
        record->mark != host_.mark(key) || !is_ours(*record)) {
        return std::nullopt;
    }
    record->machine.data["key_hash"] = key;
    record->last_used = host_.last_noted(key);
    if (!backend_.attach(record->machine)) {
        return std::nullopt;
    }
    registry_.put(key, *record);
    return record;
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
    if (!lives_here(key) || registry_.find(key)) {
        return false;
    }
    const auto lock = this->lock(key, Deadline::after({}));
    return !registry_.find(key) && restored(key).has_value();
}

} // namespace berth::session

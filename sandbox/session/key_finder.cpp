#include "sandbox/session/key_finder.hpp"

#include <algorithm>
#include <exception>

namespace berth::session {

KeyFinder::KeyFinder(sandbox::Backend& backend, Registry& registry)
    : backend_(backend), registry_(registry)
{
}

std::optional<std::string> KeyFinder::find(const SessionId& id, const std::string& shown) const
{
    const auto key = key_hash(id);
    const auto keys = registry_.keys();
    const bool known = std::find(keys.begin(), keys.end(), key) != keys.end();
    return known && is_named(key, shown) ? key : listed(shown);
}

/// Of a record that does not say it, whoever has the key is believed.
bool KeyFinder::is_named(const std::string& key, const std::string& shown) const noexcept
{
    try {
        const auto record = registry_.find(key);
        return record && (record->id.session == shown || record->id.session == key);
    } catch (const std::exception&) {
        return true;
    }
}

std::optional<std::string> KeyFinder::listed(const std::string& shown) const
{
    const auto keys = registry_.keys();
    auto key = std::find(keys.begin(), keys.end(), shown); // which takes no look at the records
    if (key == keys.end()) {
        key = std::find_if(keys.begin(), keys.end(),
                           [&](const std::string& each) { return is_shown_as(each, shown); });
    }
    return key == keys.end() ? std::nullopt : std::optional(*key);
}

std::optional<std::string> KeyFinder::of_home(const SessionId& id, const std::string& shown) const
{
    for (const auto& key : {key_hash(id), shown}) {
        if (is_key(key) && !backend_.find_home(key).empty()) {
            return key;
        }
    }
    return std::nullopt;
}

bool KeyFinder::is_shown_as(const std::string& key, const std::string& shown) const noexcept
{
    try {
        const auto record = registry_.find(key);
        return record && !shown.empty() &&
               (record->machine.id == shown || (record->unnamed && record->id.session == shown));
    } catch (const std::exception&) {
        return false; // damaged: by its key alone
    }
}

} // namespace berth::session

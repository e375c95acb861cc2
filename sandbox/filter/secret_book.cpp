#include "sandbox/filter/secret_book.hpp"

#include <algorithm>

namespace berth::filter {

SecretBook::SecretBook(const std::vector<WithheldSecret>& secrets)
{
    for (const auto& secret : secrets) {
        Entry entry{
            .name = secret.name, .placeholder = secret.placeholder, .places = {}, .value = {}};
        for (const auto& text : secret.places) {
            entry.places.push_back(parse_secret_place(text));
        }
        entries_.push_back(std::move(entry));
    }
}

void SecretBook::set(std::string_view name, std::string_view value)
{
    if (!unfit_for_request(value).empty()) {
        return;
    }
    const std::lock_guard lock(mutex_);
    for (auto& entry : entries_) {
        if (entry.name == name) {
            entry.value = value;
        }
    }
}

std::vector<Replacement> SecretBook::replacements(const Target& target, bool is_tls) const
{
    const std::lock_guard lock(mutex_);
    std::vector<Replacement> found;
    for (const auto& entry : entries_) {
        Replacement each{.name = entry.name, .placeholder = entry.placeholder, .places = {}};
        for (const auto& place : entry.places) {
            each.places += (each.places.empty() ? "" : ", ") + place.site();
            const bool is_it = place.is(target, is_tls);
            each.is_for_target = each.is_for_target || is_it;
            each.takes_address = each.takes_address || (is_it && place.takes_address);
        }
        if (each.is_for_target) {
            each.value = entry.value;
        }
        found.push_back(std::move(each));
    }
    return found;
}

std::vector<Target> SecretBook::tls_places() const
{
    std::vector<Target> found;
    for (const auto& entry : entries_) {
        for (const auto& place : entry.places) {
            if (place.is_tls) {
                found.push_back(place.target);
            }
        }
    }
    return found;
}

bool SecretBook::is_place(const Target& target, bool is_tls) const
{
    return std::ranges::any_of(entries_, [&](const Entry& entry) {
        return std::ranges::any_of(
            entry.places, [&](const SecretPlace& place) { return place.is(target, is_tls); });
    });
}

} // namespace berth::filter

#include "sandbox/late_words.hpp"

#include <algorithm>
#include <utility>

namespace berth::sandbox {
namespace {

std::vector<std::string> first(const std::vector<std::string>& names, std::size_t count)
{
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(count, names.size()));
    return {names.begin(), end};
}

void remove(std::vector<std::string>& from, const std::vector<std::string>& names)
{
    std::erase_if(from, [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    });
}

/// From the middle of the lease on, an eighth of it apart.
constexpr int most_tries = 4;

} // namespace

LateWords::LateWords(std::chrono::milliseconds lease) : lease_(lease), renewed_(BootClock::now()) {}

void LateWords::seen(const std::string& call)
{
    add(&Words::seen, call);
}

void LateWords::declined(const std::string& call)
{
    add(&Words::declined, call);
}

void LateWords::given_up(const std::string& call)
{
    add(&Words::given_up, call);
}

void LateWords::add(std::vector<std::string> Words::* to, const std::string& call)
{
    {
        const std::lock_guard lock(mutex_);
        (words_.*to).push_back(call);
    }
    changed();
}

void LateWords::changed() const
{
    if (const auto time = due()) {
        also_due(*time);
    }
}

void LateWords::stays(bool does)
{
    {
        const std::lock_guard lock(mutex_);
        stays_ = does;
    }
    changed();
}

bool LateWords::stays() const
{
    const std::lock_guard lock(mutex_);
    return stays_;
}

LateWords::Words LateWords::some() const
{
    const std::lock_guard lock(mutex_);
    // What nobody wants first: it may still run.
    Words some{.seen = {}, .declined = first(words_.declined, most), .given_up = {}};
    some.given_up = first(words_.given_up, most - some.declined.size());
    some.seen = first(words_.seen, most - some.declined.size() - some.given_up.size());
    return some;
}

void LateWords::told(const Words& words)
{
    const std::lock_guard lock(mutex_);
    remove(words_.seen, words.seen);
    remove(words_.declined, words.declined);
    remove(words_.given_up, words.given_up);
}

std::size_t LateWords::size() const
{
    const std::lock_guard lock(mutex_);
    return count();
}

void LateWords::renewed()
{
    const std::lock_guard lock(mutex_);
    renewed_ = BootClock::now();
    not_before_ = {};
    tries_ = 0;
}

/// Under the lock.
std::size_t LateWords::count() const
{
    return words_.seen.size() + words_.declined.size() + words_.given_up.size();
}

/// Under the lock.
std::optional<LateWords::Time> LateWords::time() const
{
    const bool waits = count() > 0 && tries_ < most_tries; // then the next call says them
    if (!waits && !stays_) {
        return std::nullopt;
    }
    return std::max(renewed_ + lease_ / 2, not_before_);
}

std::optional<LateWords::Time> LateWords::due() const
{
    const std::lock_guard lock(mutex_);
    return time();
}

void LateWords::put_off()
{
    const std::lock_guard lock(mutex_);
    tries_ = std::min(tries_ + 1, most_tries);
    not_before_ = BootClock::now() + lease_ / (tries_ < most_tries ? 2 * most_tries : 2);
}

void LateWords::also_due(Time time) const
{
    std::function<void(Time)> on_due;
    {
        const std::lock_guard lock(mutex_);
        on_due = on_due_;
    }
    if (on_due) {
        on_due(time);
    }
}

void LateWords::on_due(std::function<void(Time)> due)
{
    const std::lock_guard lock(mutex_);
    on_due_ = std::move(due);
}

} // namespace berth::sandbox

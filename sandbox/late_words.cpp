#include "sandbox/late_words.hpp"

#include <algorithm>

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

} // namespace

void LateWords::seen(const std::string& call)
{
    const std::lock_guard lock(mutex_);
    words_.seen.push_back(call);
}

void LateWords::declined(const std::string& call)
{
    const std::lock_guard lock(mutex_);
    words_.declined.push_back(call);
}

LateWords::Words LateWords::some() const
{
    const std::lock_guard lock(mutex_);
    // What nobody wants first: it may still run.
    Words some{.seen = {}, .declined = first(words_.declined, most)};
    some.seen = first(words_.seen, most - some.declined.size());
    return some;
}

void LateWords::told(const Words& words)
{
    const std::lock_guard lock(mutex_);
    remove(words_.seen, words.seen);
    remove(words_.declined, words.declined);
}

std::size_t LateWords::size() const
{
    const std::lock_guard lock(mutex_);
    return words_.seen.size() + words_.declined.size();
}

} // namespace berth::sandbox

#include "sandbox/given_up_calls.hpp"

#include <algorithm>

namespace berth::sandbox {

void GivenUpCalls::add(const std::string& name)
{
    const std::lock_guard lock(mutex_);
    if (names_.size() == most) {
        names_.erase(names_.begin());
    }
    names_.push_back(name);
}

std::vector<std::string> GivenUpCalls::all() const
{
    const std::lock_guard lock(mutex_);
    return names_;
}

void GivenUpCalls::heard(const std::vector<std::string>& names)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(names_, [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    });
}

bool GivenUpCalls::empty() const
{
    const std::lock_guard lock(mutex_);
    return names_.empty();
}

} // namespace berth::sandbox

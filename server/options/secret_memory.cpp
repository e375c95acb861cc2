#include "server/options/secret_memory.hpp"

#include <algorithm>
#include <cstddef>

namespace berth::server {

void SecretMemory::note(const std::string& name, const std::string& value)
{
    constexpr std::ptrdiff_t most = 4;
    const std::lock_guard lock(mutex_);
    const auto is_of_name = [&](const tools::Secret& secret) { return secret.name == name; };
    std::erase(known_, tools::Secret{name, value});
    if (std::ranges::count_if(known_, is_of_name) >= most) {
        known_.erase(std::ranges::find_if(known_, is_of_name));
    }
    known_.push_back({name, value});
}

std::vector<tools::Secret> SecretMemory::all() const
{
    const std::lock_guard lock(mutex_);
    return known_;
}

} // namespace berth::server

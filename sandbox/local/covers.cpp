#include "sandbox/local/covers.hpp"

#include <utility>

namespace berth::local {

Covers::Covers(std::vector<Bind> binds, Private wanted)
    : binds_(std::move(binds)), wanted_(std::move(wanted))
{
}

std::vector<Cover> Covers::look(bool& made)
{
    auto found = find_hidden(binds_, wanted_, &made);
    const std::lock_guard lock(mutex_);
    latest_ = found;
    return found;
}

std::vector<Cover> Covers::latest()
{
    {
        const std::lock_guard lock(mutex_);
        if (latest_) {
            return *latest_;
        }
    }
    bool made = false;
    return look(made);
}

void Covers::require(const std::vector<Cover>& begun)
{
    bool made = false;
    if (look(made) != begun || made) {
        throw CoversChanged();
    }
}

} // namespace berth::local

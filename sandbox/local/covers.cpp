#include "sandbox/local/covers.hpp"

#include <utility>

namespace berth::local {
namespace {

std::vector<PlaceIdentity> folders_now(const Private& wanted)
{
    std::vector<PlaceIdentity> folders;
    folders.reserve(wanted.folders.size() + 1);
    for (const auto& folder : wanted.folders) {
        folders.push_back(identity_at(folder));
    }
    folders.push_back(identity_at(wanted.home));
    return folders;
}

} // namespace

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

Covers::Begun Covers::begin()
{
    auto covers = latest(); // first: what is missing may be made by it
    return {.covers = std::move(covers), .folders = folders_now(wanted_)};
}

void Covers::require(const Begun& begun)
{
    bool made = false;
    if (look(made) != begun.covers || made || folders_now(wanted_) != begun.folders) {
        throw CoversChanged();
    }
}

} // namespace berth::local

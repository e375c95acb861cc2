#include "sandbox/local/launcher/prepared_root.hpp"

#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/root_keeper.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <poll.h>

namespace berth::local {
namespace {

bool is_below(const std::string& path, const std::string& folder)
{
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

std::string sources_of(const RootParts& parts)
{
    std::string sources;
    for (const auto& bind : parts.binds) {
        sources.append(bind.source).append(1, '\0');
    }
    for (const auto& cover : parts.hidden) {
        // What comes in its place would lie beside the cover.
        sources.append(cover.source).append(1, '\0');
    }
    return sources;
}

std::vector<PlaceIdentity> identities_at(const std::string& sources)
{
    std::vector<PlaceIdentity> found;
    found.reserve(static_cast<std::size_t>(std::count(sources.begin(), sources.end(), '\0')));
    for (std::size_t begin = 0; begin < sources.size();) {
        const auto end = sources.find('\0', begin);
        found.push_back(identity_at(sources.substr(begin, end - begin)));
        begin = end + 1;
    }
    return found;
}

} // namespace

std::optional<PreparedRoot> PreparedRoot::make(const std::string& encoded) noexcept
{
    try {
        PreparedRoot root;
        root.encoded_ = encoded;
        const auto parts = protocol::decode<RootParts>(encoded);
        root.sources_ = sources_of(parts);
        root.sources_.shrink_to_fit();
        root.at_them_ = identities_at(root.sources_);
        root.keeper_ = start_root_keeper(parts);
        return root; // what was changed meanwhile is found at the launch
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

bool PreparedRoot::is_current() const
{
    pollfd keeper{keeper_.get(), 0, 0}; // its end is told unasked
    return ::poll(&keeper, 1, 0) == 0 && sources_are_there();
}

bool PreparedRoot::clone_ahead() noexcept
{
    try {
        // In this order: of a mount before this the keeper knows, which ends then, and of one that
        // comes after it this tells. Not the keeper's own: of each change it tells one reader.
        mounts_ = open_mounts();
        mount_ = clone_kept_root(keeper_);
    } catch (const std::exception&) {
        mount_.reset(); // of descriptors there is none left: the launch will say so
    }
    return mount_.valid();
}

/// In itself, or in one that is mounted before.
bool PreparedRoot::has_places_for(const std::vector<Bind>& binds) const
{
    return std::all_of(binds.begin(), binds.end(), [&](const Bind& bind) {
        if (std::any_of(binds.begin(), binds.end(),
                        [&](const Bind& other) { return is_below(bind.target, other.target); })) {
            return true;
        }
        open_how how{};
        how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
        return UniqueFd(sys::openat2(mount_.get(), bind.target.c_str() + 1, how)).valid();
    });
}

bool PreparedRoot::sources_are_there() const
{
    return at_them_ == identities_at(sources_);
}

void PreparedRoot::look()
{
    still_there_ = sources_are_there();
}

UniqueFd PreparedRoot::take_for(const LaunchSpec& spec)
{
    const auto looked = std::exchange(still_there_, std::nullopt);
    // What is mounted below a source is in the root too.
    pollfd mounts{mounts_.get(), POLLPRI, 0};
    if (!mount_ || ::poll(&mounts, 1, 0) != 0 || spec.base != encoded_ ||
        !(looked ? *looked : sources_are_there()) || !has_places_for(spec.binds)) {
        return {};
    }
    return std::move(mount_);
}

} // namespace berth::local

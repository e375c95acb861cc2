#include "sandbox/guest/protection/protected_writes.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/protection/protected_names.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>

namespace berth::guest {

using protocol::Change;

void ProtectedWrites::judge(const std::string& path, bool exists)
{
    if (!is_protected(path, protection_, config_)) {
        return;
    }
    if (protection_.refuse) {
        throw Error(ErrorCode::permission_denied,
                    visible(path) +
                        " is protected here: no tool may write it, and nothing was done",
                    "Programs outside of the sandbox obey such a file. Tell the user what should "
                    "be in it, who can put it there.");
    }
    const bool known = std::ranges::any_of(met_, [&](const auto& met) { return met.path == path; });
    if (!known) {
        met_.push_back({.path = path, .change = exists ? Change::changed : Change::created});
    }
}

std::vector<protocol::ProtectedChange> ProtectedWrites::done(ProtectedBook& book)
{
    for (auto& met : met_) {
        if (!stamp_of(AT_FDCWD, met.path)) {
            met.change = Change::removed;
        }
        book.wrote(met.path);
    }
    if (met_.size() > ProtectedBook::most_told) {
        met_.resize(ProtectedBook::most_told);
    }
    return std::move(met_);
}

} // namespace berth::guest

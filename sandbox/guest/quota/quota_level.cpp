#include "sandbox/guest/quota/quota_level.hpp"

#include <algorithm>

namespace berth::guest {

void QuotaLevel::begin(std::optional<std::uint64_t> used)
{
    doubt_ = false;
    if (!used) {
        level_.reset();
        return;
    }
    // What is forgiven is forgiven once: a home that is too large must not grow by as much with
    // each command.
    const bool was_full = level_ && *level_ > limit_;
    level_ = std::max(limit_, was_full ? std::min(*level_, *used) : *used);
}

std::uint64_t QuotaLevel::allowed() const noexcept
{
    return *level_ > limit_ ? *level_ + slack : limit_;
}

std::optional<std::uint64_t> QuotaLevel::rest_of_slack(std::uint64_t used)
{
    if (used <= limit_) {
        full_.reset();
        return std::nullopt;
    }
    full_ = std::min(full_.value_or(used), used);
    return *full_ + slack - std::min(*full_ + slack, used);
}

QuotaLevel::Verdict QuotaLevel::judge(std::uint64_t used)
{
    if (!level_) {
        level_ = std::max(limit_, used);
    }
    if (used <= allowed()) {
        doubt_ = false;
        level_ = std::max(limit_, std::min(*level_, used));
        return Verdict::fine;
    }
    if (!doubt_) {
        doubt_ = true;
        return Verdict::doubtful;
    }
    return Verdict::exceeded;
}

} // namespace berth::guest

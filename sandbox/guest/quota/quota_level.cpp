#include "sandbox/guest/quota/quota_level.hpp"

#include <algorithm>

namespace berth::guest {

void QuotaLevel::begin(std::optional<std::uint64_t> used)
{
    doubt_ = false;
    level_.reset();
    if (used) {
        level_ = std::max(limit_, *used);
    }
}

std::uint64_t QuotaLevel::allowed() const noexcept
{
    return *level_ > limit_ ? *level_ + slack : limit_;
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

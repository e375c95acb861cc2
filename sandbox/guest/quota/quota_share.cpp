#include "sandbox/guest/quota/quota_share.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {
namespace {

/// What file systems give room in.
constexpr std::uint64_t file_system_block = 4096;

} // namespace

QuotaShare::QuotaShare(HomeQuota* quota, std::string path)
    : quota_(quota != nullptr && quota->covers(path) ? quota : nullptr), path_(std::move(path))
{
}

QuotaShare::~QuotaShare()
{
    if (quota_ != nullptr) {
        quota_->give_back(reserved_);
    }
}

void QuotaShare::grow_to(std::uint64_t size, const std::stop_token& stop, std::uint64_t goes)
{
    if (quota_ == nullptr) {
        return;
    }
    // The kernel counts both until one has taken the other's place.
    const std::uint64_t more = quota_->is_by_kernel() ? size : size - std::min(size, goes);
    const std::uint64_t room =
        (more + file_system_block - 1) / file_system_block * file_system_block;
    if (room <= reserved_) {
        return;
    }
    quota_->reserve(path_, room - reserved_, reserved_, stop);
    reserved_ = room;
}

void QuotaShare::keep(std::uint64_t replaced) noexcept
{
    if (quota_ != nullptr) {
        quota_->settle(std::exchange(reserved_, 0), replaced);
    }
}

} // namespace berth::guest

#pragma once

#include "sandbox/guest/quota/home_quota.hpp"

#include <cstdint>
#include <stop_token>
#include <string>

namespace berth::guest {

/// The room of the home that one file is being written into; given back with this object unless it
/// was kept. One thread's.
class QuotaShare {
  public:
    /// `quota`: null where there is none. `path`: where the file really is or will be.
    QuotaShare(HomeQuota* quota, std::string path);
    ~QuotaShare();
    QuotaShare(const QuotaShare&) = delete;
    QuotaShare& operator=(const QuotaShare&) = delete;

    /// The file is to have so many bytes, in place of what has `goes` bytes of the disk. Throws
    /// Error(quota_exceeded).
    void grow_to(std::uint64_t size, const std::stop_token& stop, std::uint64_t goes = 0);

    /// Does some of the writing; an Error that the limit is the reason of says so.
    template <class Work>
    [[nodiscard]] auto watch(Work work) const
    {
        try {
            return work();
        } catch (const Error& error) {
            throw quota_ == nullptr ? Error(error) : quota_->explain(error);
        }
    }

    /// It was written; `replaced` bytes of the disk have gone for that.
    void keep(std::uint64_t replaced) noexcept;

  private:
    HomeQuota* quota_;
    std::string path_;
    std::uint64_t reserved_ = 0;
};

} // namespace berth::guest

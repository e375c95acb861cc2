#include "sandbox/guest/quota/home_quota.hpp"

#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <vector>

namespace berth::guest {
namespace {

/// While commands run a count holds for so long.
constexpr std::chrono::seconds fresh{1};
/// Whether another's count is done.
constexpr std::chrono::milliseconds look_again{2};

std::vector<std::string> mounts_of(const protocol::GuestConfig& config)
{
    auto mounts = config.read_only_mounts;
    mounts.insert(mounts.end(), config.writable_roots.begin(), config.writable_roots.end());
    return mounts;
}

/// `what`: without the numbers.
Error exceeded(const std::string& what, std::uint64_t used, std::uint64_t limit, bool by_kernel)
{
    return Error(
        Error(ErrorCode::quota_exceeded,
              what + " the home has " + std::to_string(used) + " of the " + std::to_string(limit) +
                  " bytes that it may have (session.quota, kept by " +
                  (by_kernel ? "the kernel" : "berth's own count") + "); nothing was written",
              "Delete what is not needed any more: du -xh -d 2 ~ | sort -h | tail shows "
              "what is large. /tmp does not count; what is to be kept may go to the "
              "workspace. The operator can raise session.quota.")
            .with_detail("used_bytes", std::to_string(used))
            .with_detail("limit_bytes", std::to_string(limit))
            .with_detail("enforced_by", by_kernel ? "kernel" : "accounting"));
}

Error no_room_for(std::string_view path, std::uint64_t more, std::uint64_t used,
                  std::uint64_t limit, bool by_kernel)
{
    return exceeded(visible(path) + " would need at least " + std::to_string(more) +
                        " bytes more, and",
                    used, limit, by_kernel);
}

} // namespace

HomeQuota::HomeQuota(const protocol::GuestConfig& config)
    : area_(config.home, mounts_of(config)), home_(config.home), elsewhere_(config.spill_directory),
      by_kernel_(config.quota_by_kernel), limit_(config.quota)
{
}

protocol::QuotaState HomeQuota::state() const
{
    if (by_kernel_) {
        if (const auto room = room_of(home_)) {
            return {.limit = room->limit, .used = used_of(*room), .by_kernel = true};
        }
    }
    const std::lock_guard lock(mutex_);
    protocol::QuotaState state{.limit = limit_, .used = {}, .by_kernel = by_kernel_};
    if (counted_) {
        state.used = *counted_ + reserved_;
    }
    return state;
}

std::optional<std::uint64_t> HomeQuota::count(const std::stop_token& stop,
                                              std::chrono::milliseconds time)
{
    if (by_kernel_) {
        const auto room = ask_kernel();
        return room ? used_of(*room) : std::nullopt;
    }
    const auto alone = turn(stop, time);
    return alone ? count_alone(stop, time) : std::nullopt;
}

/// Of counting; invalid where it did not come in time, or nobody waits for it any more.
std::unique_lock<std::timed_mutex> HomeQuota::turn(const std::stop_token& stop,
                                                   std::chrono::milliseconds time)
{
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock alone(counting_, std::defer_lock);
    while (!alone.try_lock_for(look_again)) {
        if (stop.stop_requested() ||
            (time.count() != 0 && std::chrono::steady_clock::now() - begin > time)) {
            break;
        }
    }
    return alone;
}

std::optional<std::uint64_t> HomeQuota::count_alone(const std::stop_token& stop,
                                                    std::chrono::milliseconds time)
{
    std::uint64_t doubts = 0;
    {
        const std::lock_guard lock(mutex_);
        doubts = doubts_;
        overlapped_ = false;
        counts_ = true;
    }
    const auto room = area_.count(stop, static_cast<std::uint64_t>(time.count()));
    const std::lock_guard lock(mutex_);
    counts_ = false;
    if (!room) {
        return std::nullopt;
    }
    counted_ = room;
    // A file that took its place meanwhile may be in the number, twice or not at all.
    doubts_ += overlapped_ ? 1U : 0U;
    counted_at_ =
        overlapped_ ? std::chrono::steady_clock::time_point() : std::chrono::steady_clock::now();
    doubts_at_count_ = doubts;
    return room;
}

/// Of a project the kernel tells as free what the limit leaves or, since Linux 5.15 or so, what the
/// disk has where that is less: then the rest of the limit is no measure of what the home has.
std::optional<std::uint64_t> HomeQuota::used_of(const HomeRoom& room) const
{
    const auto disk = elsewhere_.empty() ? std::nullopt : room_of(elsewhere_);
    return disk && disk->free <= room.free ? std::nullopt : std::optional(room.used);
}

std::optional<HomeRoom> HomeQuota::ask_kernel()
{
    auto room = room_of(home_);
    if (room) {
        limit_ = room->limit; // the operator may have changed it
    }
    return room;
}

void HomeQuota::doubt() noexcept
{
    const std::lock_guard lock(mutex_);
    ++doubts_;
}

void HomeQuota::set_commands_run(bool run)
{
    const std::lock_guard lock(mutex_);
    doubts_ += commands_run_ && !run ? 1U : 0U;
    commands_run_ = run;
}

bool HomeQuota::is_exact() const
{
    const std::lock_guard lock(mutex_);
    return counted_ && !commands_run_ && doubts_at_count_ == doubts_;
}

bool HomeQuota::is_known() const
{
    if (!counted_) {
        return false;
    }
    return commands_run_ ? std::chrono::steady_clock::now() - counted_at_ < fresh
                         : doubts_at_count_ == doubts_;
}

bool HomeQuota::try_reserve(std::uint64_t more)
{
    const std::lock_guard lock(mutex_);
    if (!is_known() || *counted_ + reserved_ + more > limit_) {
        return false;
    }
    reserved_ += more;
    return true;
}

void HomeQuota::reserve(std::string_view path, std::uint64_t more, std::uint64_t had,
                        const std::stop_token& stop)
{
    if (by_kernel_) {
        require_kernels(path, more);
        return;
    }
    if (try_reserve(more)) {
        return;
    }
    // Before anybody is refused: a command may have made room, or a file was moved while it was
    // counted and so counted twice.
    const auto alone = turn(stop, {});
    if (alone && try_reserve(more)) {
        return; // by the count of whoever had the turn before
    }
    if (!alone || !count_alone(stop, {})) {
        throw Error(ErrorCode::cancelled, "the call was stopped while the home was counted",
                    "Nothing of it was written: call again if it is still wanted.");
    }
    const std::lock_guard lock(mutex_);
    const std::uint64_t used = *counted_ + reserved_;
    if (used + more <= limit_) {
        reserved_ += more;
        return;
    }
    throw no_room_for(path, had + more, used - std::min(had, used), limit_, false);
}

/// What is written already the kernel has in its number: nothing is kept in the books.
void HomeQuota::require_kernels(std::string_view path, std::uint64_t more)
{
    const auto room = ask_kernel();
    const auto used = room ? used_of(*room) : std::nullopt;
    if (used && *used + more > room->limit) {
        throw no_room_for(path, more, *used, room->limit, true);
    }
}

Error HomeQuota::explain(const Error& error) const
{
    const bool full =
        error.code() == ErrorCode::no_space || error.code() == ErrorCode::quota_exceeded;
    // One that names a backup has a more urgent hint.
    if (!by_kernel_ || !full || error.details().contains("backup") ||
        error.details().contains("limit_bytes")) {
        return error;
    }
    const auto room = room_of(home_);
    if (!room) {
        return error;
    }
    // XFS has but one word for a full project and a full disk (ENOSPC): it is the narrower one.
    const auto disk = elsewhere_.empty() ? std::nullopt : room_of(elsewhere_);
    if (error.code() == ErrorCode::no_space && (!disk || disk->left <= room->left)) {
        return error;
    }
    return exceeded(std::string(error.what()) + ":", room->used, room->limit, true);
}

void HomeQuota::give_back(std::uint64_t reserved) noexcept
{
    const std::lock_guard lock(mutex_);
    reserved_ -= std::min(reserved, reserved_);
}

void HomeQuota::settle(std::uint64_t reserved, std::uint64_t replaced) noexcept
{
    const std::lock_guard lock(mutex_);
    reserved_ -= std::min(reserved, reserved_);
    overlapped_ = overlapped_ || counts_;
    if (counted_) {
        const std::uint64_t grown = *counted_ + reserved;
        counted_ = grown - std::min(replaced, grown);
    }
}

} // namespace berth::guest

#pragma once

#include <cstdint>
#include <utility>

namespace berth::guest {

/// That nobody has seen how a command ended (JobEntry::unseen), and whether somebody is about to
/// tell it: lent to one claim it is not there for any other, and comes back where that one came to
/// nothing.
class UnseenMark {
  public:
    /// Of one that tells; 0 is none.
    using Claim = std::uint64_t;

    [[nodiscard]] bool is_set() const noexcept { return set_; }

    /// Neither set nor lent.
    [[nodiscard]] bool is_known() const noexcept { return !set_ && lent_to_ == 0; }

    /// Who is about to tell it; 0: nobody.
    [[nodiscard]] Claim lent_to() const noexcept { return lent_to_; }

    [[nodiscard]] bool is_lent() const noexcept { return lent_to_ != 0; }

    void set() noexcept { set_ = true; }

    /// It is known. Returns whether it was set; one that is lent does not come back.
    bool clear() noexcept
    {
        lent_to_ = 0;
        return std::exchange(set_, false);
    }

    /// False when there is nothing to lend.
    bool lend(Claim to) noexcept
    {
        if (!set_) {
            return false;
        }
        set_ = false;
        lent_to_ = to;
        return true;
    }

    /// Of what that claim had, if it had this: known now, or as it was before.
    void settle(Claim of, bool told) noexcept
    {
        if (lent_to_ == of) {
            lent_to_ = 0;
            set_ = set_ || !told;
        }
    }

  private:
    bool set_ = false;
    Claim lent_to_ = 0;
};

} // namespace berth::guest

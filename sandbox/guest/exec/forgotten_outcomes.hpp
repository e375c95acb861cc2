#pragma once

#include "sandbox/guest/exec/unseen_mark.hpp"

#include <cstdint>
#include <vector>

namespace berth::guest {

/// How many outcomes that nobody has seen were dropped for want of room. Their number is lent as an
/// UnseenMark is, so that it is told once, and comes back where whoever was to tell it did not.
class ForgottenOutcomes {
  public:
    /// One with that mark is dropped. Where it is lent, its claim has it in the number.
    void add(const UnseenMark& mark)
    {
        if (mark.is_set()) {
            ++untold_;
        } else if (mark.lent_to() != 0) {
            lent_.push_back({mark.lent_to(), 1});
        }
    }

    /// Those that nobody tells yet.
    [[nodiscard]] std::uint32_t untold() const noexcept { return untold_; }

    /// All are told.
    void clear() noexcept { untold_ = 0; }

    /// False when there is nothing to lend.
    bool lend(UnseenMark::Claim to)
    {
        if (untold_ == 0) {
            return false;
        }
        lent_.push_back({to, untold_});
        untold_ = 0;
        return true;
    }

    void settle(UnseenMark::Claim of, bool told)
    {
        std::erase_if(lent_, [&](const Lent& each) {
            if (each.to == of && !told) {
                untold_ += each.count;
            }
            return each.to == of;
        });
    }

  private:
    struct Lent {
        UnseenMark::Claim to;
        std::uint32_t count;
    };

    std::uint32_t untold_ = 0;
    std::vector<Lent> lent_; ///< few: who tells does so within a call
};

} // namespace berth::guest

#pragma once

#include "sandbox/guest/exec/outcome.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace berth::guest {

/// How many outcomes that nobody has seen were dropped for want of room. Their number is lent as an
/// UnseenMark is, so that it is told once, and comes back where whoever was to tell it did not. Of
/// those that a server's client knows of the number waits until that server is gone.
class ForgottenOutcomes {
  public:
    /// That of a job which has ended is dropped. Where its mark is lent, its claim has it in the
    /// number.
    void add(const Outcome& outcome)
    {
        const auto& mark = outcome.unseen();
        if (mark.is_set()) {
            ++untold_;
        } else if (mark.is_lent()) {
            lent_.push_back({mark.lent_to(), 1});
        } else if (outcome.is_expected(/*over=*/true)) {
            ++expected_[outcome.keeper()];
        }
    }

    /// Those that nobody tells yet.
    [[nodiscard]] std::uint32_t untold() const noexcept { return untold_; }

    /// Those that somebody is about to tell.
    [[nodiscard]] std::uint32_t lent() const noexcept
    {
        std::uint32_t count = 0;
        for (const auto& each : lent_) {
            count += each.count;
        }
        return count;
    }

    /// Those that somebody knows of, who may ask.
    [[nodiscard]] std::uint32_t expected() const noexcept
    {
        std::uint32_t count = 0;
        for (const auto& [keeper, jobs] : expected_) {
            count += jobs;
        }
        return count;
    }

    /// As Outcome::leave(), of all whose keepers are not here. True: there are some.
    bool leave(const std::function<bool(const std::string& server)>& is_here)
    {
        const auto before = untold_;
        std::erase_if(expected_, [&](const auto& each) {
            const bool is_left = !each.first.empty() && !is_here(each.first);
            untold_ += is_left ? each.second : 0;
            return is_left;
        });
        return untold_ > before;
    }

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
    std::map<std::string, std::uint32_t> expected_; ///< by keeper; empty: it has told no name
    std::vector<Lent> lent_;                        ///< few: who tells does so within a call
};

} // namespace berth::guest

#pragma once

#include "sandbox/receipt.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace berth::session {

/// What the agent must be told once, and the receipts of what some of it says: acknowledged when
/// the agent has read it, and not before. The two go together wherever they go.
struct Told {
    std::vector<std::string> notices;
    sandbox::Receipts receipts = {};
    /// Of calls that failed with their machine, and whose results nobody has read: unlike the other
    /// notices no guest and no book has them yet. A lease has them among its `notices` too.
    std::vector<std::string> unheard = {};

    /// Nothing of it goes on waiting to be read; a receipt does that without a notice too.
    [[nodiscard]] bool is_empty() const noexcept
    {
        return notices.empty() && receipts.empty() && unheard.empty();
    }

    /// Behind what is there already.
    void add(Told later)
    {
        std::move(later.notices.begin(), later.notices.end(), std::back_inserter(notices));
        std::move(later.receipts.begin(), later.receipts.end(), std::back_inserter(receipts));
        std::move(later.unheard.begin(), later.unheard.end(), std::back_inserter(unheard));
    }
};

} // namespace berth::session

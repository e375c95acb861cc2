#pragma once

// How much of the home is used, where that is limited.

#include <cstdint>
#include <optional>

namespace berth::protocol {

/// In bytes on the disk, as the kernel says, or as the guest has counted them at last.
struct QuotaState {
    std::uint64_t limit = 0;
    std::optional<std::uint64_t> used; ///< absent: not counted yet
    bool by_kernel = false;            ///< whose limit it is; of older guests always the guest's

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.limit);
        field(2, self.used);
        field(3, self.by_kernel);
    }
};

} // namespace berth::protocol

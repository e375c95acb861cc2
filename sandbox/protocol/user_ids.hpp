#pragma once

#include <cstdint>
#include <vector>

namespace berth::protocol {

/// Whose a session's commands and files are, where its guest is root.
struct UserIds {
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::vector<std::uint32_t> groups; ///< besides that one

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.user);
        field(2, self.group);
        field(3, self.groups);
    }

    friend bool operator==(const UserIds&, const UserIds&) = default;
};

} // namespace berth::protocol

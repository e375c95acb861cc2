#pragma once

// What the rules of a filtered network kept from a command.

#include <cstdint>
#include <string>

namespace berth::protocol {

/// As the model is told it: in words of what was tried, why not, and what can be done.
struct Denial {
    std::string kind;   ///< domain, port, address, dns, tls, request, secret or proxy
    std::string target; ///< as it was asked for, with its port where there is one
    std::string reason;
    std::string remedy;
    std::uint32_t count = 1; ///< so often

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.kind);
        field(2, self.target);
        field(3, self.reason);
        field(4, self.remedy);
        field(5, self.count);
    }

    /// The same, however often.
    [[nodiscard]] bool is_as(const Denial& other) const
    {
        return kind == other.kind && target == other.target && reason == other.reason;
    }
};

} // namespace berth::protocol

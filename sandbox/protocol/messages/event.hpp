#pragma once

// What a guest tells while a call is under way, where the request asked for it.

#include <cstdint>
#include <optional>
#include <string>

namespace berth::protocol {

/// The newest output of a command: of the stream that it wrote to last.
struct PrintedTail {
    std::string text;              ///< its last bytes, as they are
    std::uint64_t total_bytes = 0; ///< of the stream so far; more than `text` has: it is cut

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.text);
        field(2, self.total_bytes);
    }
};

/// The payload of an event frame: one of these. A host that knows none of them passes it over.
struct Event {
    std::optional<PrintedTail> printed; ///< where the request says `progress`

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.printed);
    }
};

} // namespace berth::protocol

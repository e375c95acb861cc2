#pragma once

#include <cstdint>
#include <string>

namespace berth::protocol {

/// Files on their way between sandbox and workspace, as the bytes of successive data frames put
/// together: for each file a varint with the size of its header, the header, then exactly
/// `header.size` bytes. Directories are implied by the names. The stream ends at a file boundary
/// with the frame flagged `last`.
struct TransferHeader {
    std::string name; ///< relative, '/'-separated, without "." or ".." or empty components
    std::uint64_t size = 0;
    std::uint32_t mode = 0; ///< permission bits
    /// The request named this very file (no directory, no pattern): `name` is its last component.
    /// Known to the receiver before the content, which goes straight to its place.
    bool single = false;
    /// The request was a pattern, which `name` matches; false: it named the directory (or the file)
    /// itself, whatever characters are in that name. Only the guest can know.
    bool matched = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.name);
        field(2, self.size);
        field(3, self.mode);
        field(4, self.single);
        field(5, self.matched);
    }
};

inline constexpr std::size_t max_transfer_header = 16UL * 1024;

} // namespace berth::protocol

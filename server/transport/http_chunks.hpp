#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::transport {

/// Follows a body in chunks while somebody else reads it, and sees what is none by RFC 9112 7.1.
/// The library takes "-2", "0x3" and " 3" for sizes, a line of any length for one, a line feed for
/// the end of a line, and what does not end as a chunk does for the end of the body: what comes
/// after that would be a request to it, and none to a proxy before us (request smuggling). Trailers
/// are not taken.
class HttpChunks {
  public:
    /// How many bytes of `piece`, the next that came, belong to the body; less than all: what
    /// follows is no chunk, and nothing more is taken.
    [[nodiscard]] std::size_t take(std::string_view piece) noexcept;

  private:
    enum class State : unsigned char {
        size,
        extension,
        size_end,
        data,
        data_cr,
        data_end,
        last_cr,
        last_end,
        over
    };

    [[nodiscard]] bool take_byte(char byte) noexcept;
    [[nodiscard]] bool take_size(char byte) noexcept;
    [[nodiscard]] bool expect(char byte, char expected, State next) noexcept;

    State state_ = State::size;
    std::size_t digits_ = 0;
    std::size_t line_ = 0;   ///< bytes of an extension
    std::uint64_t left_ = 0; ///< of the chunk
};

} // namespace berth::transport

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::filter {

/// Finds the end of a request's body as its bytes come: behind it another request could begin,
/// which nobody has judged. Strict about chunks (RFC 9112, 7.1), since a server may read what is
/// doubtful in another way.
class Body {
  public:
    /// `length`: of bytes; nothing: it is chunked.
    explicit Body(std::optional<std::uint64_t> length) noexcept;

    /// How many of these bytes, which come next, are of it. Throws BadRequest.
    [[nodiscard]] std::size_t take(std::string_view bytes);

    [[nodiscard]] bool is_done() const noexcept { return part_ == Part::end; }

  private:
    enum class Part : std::uint8_t { bytes, size, chunk, chunk_end, trailer, end };

    /// Of a line, to its end. False: more of it comes.
    bool take_line(std::string_view& bytes);
    void take_bytes(std::string_view& bytes);
    void end_line();

    Part part_ = Part::bytes;
    std::uint64_t left_ = 0;   ///< of what has a length
    std::string line_;         ///< what has come of it
    std::size_t trailers_ = 0; ///< bytes of these
};

} // namespace berth::filter

#pragma once

#include <string>
#include <string_view>

namespace berth::guest {

/// UTF-16 in pieces to UTF-8; a lone surrogate or a last odd byte becomes U+FFFD.
class Utf16Decoder {
  public:
    explicit Utf16Decoder(bool big_endian) noexcept : big_endian_(big_endian) {}

    /// Appends to `out`.
    void feed(std::string_view bytes, std::string& out);
    void finish(std::string& out);

    /// Whether a replacement was needed.
    [[nodiscard]] bool damaged() const noexcept { return damaged_; }

  private:
    void unit(unsigned value, std::string& out);
    void replace(std::string& out);

    bool big_endian_;
    bool damaged_ = false;
    bool has_byte_ = false;
    unsigned char byte_ = 0; ///< the first half of a unit, when has_byte_
    unsigned surrogate_ = 0; ///< a high surrogate that waits for its other half
};

} // namespace berth::guest

#pragma once

#include <cstddef>
#include <string_view>

namespace berth::filter {

/// Takes numbers and parts from the front of bytes of a stranger's, in network order. What is not
/// there is 0 or empty, and failed() from then on.
class ByteReader {
  public:
    explicit ByteReader(std::string_view bytes) noexcept : bytes_(bytes) {}

    [[nodiscard]] bool failed() const noexcept { return failed_; }

    [[nodiscard]] bool done() const noexcept { return bytes_.empty(); }

    [[nodiscard]] std::size_t left() const noexcept { return bytes_.size(); }

    /// Of at most 4 bytes.
    unsigned number(std::size_t size) noexcept
    {
        unsigned value = 0;
        for (const char c : bytes(size)) {
            value = value << 8U | static_cast<unsigned char>(c);
        }
        return value;
    }

    std::string_view bytes(std::size_t size) noexcept
    {
        if (failed_ || size > bytes_.size()) {
            failed_ = true;
            bytes_ = {};
            return {};
        }
        const auto taken = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return taken;
    }

    /// Behind a length of so many bytes.
    ByteReader part(std::size_t size_of_length) noexcept
    {
        ByteReader inner(bytes(number(size_of_length)));
        inner.failed_ = failed_;
        return inner;
    }

  private:
    std::string_view bytes_;
    bool failed_ = false;
};

} // namespace berth::filter

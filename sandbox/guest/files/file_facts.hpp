#pragma once

#include "sandbox/base/sha256.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::guest {

/// The size to read: that of now, so that a file that grows under our eyes has an end. Files of
/// /proc say that they are empty; of one that is not, so much is read.
[[nodiscard]] std::uint64_t size_to_read(const Opened& file) noexcept;

/// Everything that is told about any file, whatever part of it is returned. Fed with the whole of
/// it, unless it is too large to be hashed.
class FileFacts {
  public:
    explicit FileFacts(const Opened& file);

    void feed(std::string_view piece);

    /// False: too large, not all of it is read.
    [[nodiscard]] bool hashed() const noexcept { return hash_.has_value(); }

    /// Bytes that were fed.
    [[nodiscard]] std::uint64_t fed() const noexcept { return fed_; }

    void finish(protocol::ReadFileReply& reply);

  private:
    std::uint64_t stated_size_;
    std::uint64_t fed_ = 0;
    std::optional<Sha256> hash_;
};

} // namespace berth::guest

#pragma once

#include "sandbox/protocol/transfer.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace berth::tools {

/// What one save or load moves at most.
inline constexpr std::uint64_t max_transfer_bytes = 4ULL << 30U;
inline constexpr std::uint64_t max_transfer_files = 10'000;

/// Cuts the bytes of an export into files, however they are divided into pieces. The bytes come
/// from the guest and are not trusted: every name is checked, every length is bounded. Memory: one
/// header.
class TransferReader {
  public:
    using Begin = std::function<void(const protocol::TransferHeader& header)>;
    using Data = std::function<void(std::string_view bytes)>;
    using End = std::function<void()>;

    TransferReader(Begin begin, Data data, End end);

    /// Throws Error(backend_error) for what is no transfer, and what the callbacks throw.
    void feed(std::string_view bytes);

    /// Throws Error(backend_error) when the last file is not whole.
    void finish() const;

  private:
    bool take_header(std::string_view& bytes);

    Begin begin_;
    Data data_;
    End end_;
    std::string header_; ///< what there is of a size and a header
    std::uint64_t content_left_ = 0;
    std::uint64_t files_ = 0;
    bool in_content_ = false;
};

/// Throws Error(too_large) when so much is more than one call loads. `bytes` may be of a part of
/// the files when these are too many.
void require_loadable(std::uint64_t files, std::uint64_t bytes);

/// What comes before a file's content in a transfer.
[[nodiscard]] std::string transfer_header(const protocol::TransferHeader& header);

} // namespace berth::tools

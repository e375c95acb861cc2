#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/guest/call_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace berth::guest {

/// Files go through memory in pieces of this size; between two of them `stop` is looked at.
inline constexpr std::size_t stream_piece = 256UL * 1024;

/// Larger files are neither hashed nor counted to their end: it would take seconds.
inline constexpr std::uint64_t max_hashed_size = 1024UL * 1024 * 1024;

/// Throws Error(cancelled) when nobody waits for the result any more.
void throw_if_stopped(const CallContext& context);

/// Reads a descriptor from `offset` in pieces, at most `size` bytes in all. What a file has beyond
/// that (it grew meanwhile) is left alone, so an endless writer cannot hold the call.
class PieceReader {
  public:
    /// `fd` must outlive the reader; its own position is not used.
    PieceReader(int fd, std::uint64_t offset, std::uint64_t size, std::string path,
                const CallContext& context);

    /// The next piece, valid until the next call; empty at the end. Throws Error.
    [[nodiscard]] std::string_view next();

  private:
    int fd_;
    std::uint64_t offset_;
    std::uint64_t left_;
    std::string path_;
    const CallContext& context_;
    std::size_t capacity_;
    std::unique_ptr<char[]> buffer_;
};

/// Of `size` bytes from the beginning.
[[nodiscard]] std::string hash_file(int fd, std::uint64_t size, const std::string& path,
                                    const CallContext& context);

/// Writes all of it or throws Error; one for a full disk says how much room is left.
void write_piece(int fd, std::string_view data, const std::string& path);

/// The Error for a file system that is full, which says how much room it has now.
[[noreturn]] void throw_no_room(ErrorCode code, const std::string& what, int fd);

/// The Error of a failed write or creation at `path`, on the file system of `fd`.
[[noreturn]] void throw_write_error(int error, int fd, const std::string& what);

} // namespace berth::guest

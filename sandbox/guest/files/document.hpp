#pragma once

#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/file_lock.hpp"
#include "sandbox/guest/files/stream.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// Bytes of an open file by offset, through one buffer: reading forward in small steps costs one
/// system call per buffer. Throws Error(conflict) when the file has become shorter.
class OriginalReader {
  public:
    OriginalReader(int fd, std::uint64_t size, const std::string& path, const CallContext& context);

    /// At most `wanted` bytes from `offset`, at least one unless at the end; valid until the next
    /// call.
    [[nodiscard]] std::string_view at(std::uint64_t offset, std::uint64_t wanted);

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  private:
    int fd_;
    std::uint64_t size_;
    const std::string& path_;
    const CallContext& context_;
    std::unique_ptr<char[]> buffer_;
    std::uint64_t begin_ = 0; ///< what of the file the buffer holds
    std::uint64_t end_ = 0;
};

/// A file with changes that are not written yet, as a piece table: memory grows with what was
/// changed, never with the file.
class Document {
  public:
    struct Piece {
        Piece(std::uint64_t where, std::uint64_t bytes, bool is_added) noexcept
            : begin(where), size(bytes & ~(std::uint64_t{1} << 63U)), added(is_added)
        {
        }

        std::uint64_t begin;
        std::uint64_t size : 63; ///< with `added` in one word: there may be millions of pieces
        bool added : 1;          ///< of added(), else of the original
    };

    /// `original` must outlive the document and stay as it is.
    Document(int original, std::uint64_t size, std::string path, const CallContext& context);

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    [[nodiscard]] std::uint64_t original_size() const noexcept { return original_size_; }

    [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

    [[nodiscard]] std::string_view added(const Piece& piece) const
    {
        return std::string_view(added_).substr(static_cast<std::size_t>(piece.begin),
                                               static_cast<std::size_t>(piece.size));
    }

    [[nodiscard]] OriginalReader original() const;

    /// Puts `text` in the place of `length` bytes at each of `positions`, which are in order and
    /// do not overlap.
    void replace(const std::vector<std::uint64_t>& positions, std::uint64_t length,
                 std::string_view text);

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    [[nodiscard]] const CallContext& context() const noexcept { return context_; }

  private:
    int original_;
    std::uint64_t original_size_;
    std::uint64_t size_;
    std::string path_;
    const CallContext& context_;
    std::string added_;
    std::vector<Piece> pieces_;
    FileLock many_; ///< held with many pieces
};

/// The present content of a document, from its beginning, in pieces of stream_piece bytes.
class DocumentReader {
  public:
    /// `document` must outlive the reader and stay as it is.
    explicit DocumentReader(const Document& document);

    /// Valid until the next call; empty at the end.
    [[nodiscard]] std::string_view next();

  private:
    const Document& document_;
    OriginalReader original_;
    std::size_t piece_ = 0;
    std::uint64_t offset_ = 0; ///< in the piece
    std::string buffer_;
};

} // namespace berth::guest

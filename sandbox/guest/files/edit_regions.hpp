#pragma once

#include "sandbox/guest/files/document.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace berth::guest {

/// Bytes [begin, end) of the original gave way to `text`.
struct Change {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string text;
    bool too_large = false; ///< `text` is not all of it
};

/// The changes of a document in order, one at a time. Changes without anything kept between them
/// are one, which may be as large as the file: of its text no more than `largest` bytes are held.
class ChangeReader {
  public:
    ChangeReader(const Document& document, std::uint64_t largest)
        : document_(document), largest_(largest)
    {
    }

    [[nodiscard]] std::optional<Change> next();

  private:
    const Document& document_;
    std::uint64_t largest_;
    std::size_t index_ = 0;
    std::uint64_t position_ = 0; ///< in the original, behind the last piece of it
    bool ended_ = false;
};

/// The original by lines. A line longer than `longest` bytes is given up on: nothing is returned.
class LineReader {
  public:
    LineReader(const Document& document, std::uint64_t longest)
        : forward_(document.original()), around_(document.original()), longest_(longest)
    {
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return around_.size(); }

    [[nodiscard]] bool is_line_start(std::uint64_t offset);
    /// Start of the line that the byte at `offset` is in (of the last one, at the end).
    [[nodiscard]] std::optional<std::uint64_t> line_start(std::uint64_t offset);
    /// Behind the newline of the line that the byte at `offset` is in.
    [[nodiscard]] std::optional<std::uint64_t> line_end(std::uint64_t offset);
    [[nodiscard]] std::string text(std::uint64_t begin, std::uint64_t end);
    /// Newlines before `offset`, which never goes back from call to call.
    [[nodiscard]] std::uint64_t lines_before(std::uint64_t offset);

  private:
    OriginalReader forward_; ///< of its own, since counting would throw away what is around
    OriginalReader around_;
    std::uint64_t longest_;
    std::uint64_t counted_to_ = 0;
    std::uint64_t counted_ = 0;
};

/// Whole lines [begin, end) of the original gave way to the lines of `text`.
struct Region {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string text;
};

/// Widens changes to whole lines; those that share a line become one region.
class RegionReader {
  public:
    /// A region of more than `largest` bytes is given up on, and all behind it.
    RegionReader(const Document& document, LineReader& lines, std::uint64_t largest)
        : changes_(document, largest), lines_(lines), largest_(largest), change_(changes_.next())
    {
    }

    /// Nothing at the end, or after giving up.
    [[nodiscard]] std::optional<Region> next();

    [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }

  private:
    bool complete_line(Region& region);

    ChangeReader changes_;
    LineReader& lines_;
    std::uint64_t largest_;
    std::optional<Change> change_; ///< the next one
    bool joined_ = false;          ///< it goes on in the present region
    bool gave_up_ = false;
};

} // namespace berth::guest

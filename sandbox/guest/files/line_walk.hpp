#pragma once

#include "sandbox/guest/files/document.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace berth::guest {

/// Of a line no more is held: the rest is not looked at.
inline constexpr std::size_t walked_bytes = 2000;

struct WalkedLine {
    std::uint64_t number = 0; ///< 1-based
    std::uint64_t begin = 0;  ///< its place in the text
    std::uint64_t end = 0;    ///< behind its newline
    std::string_view text;    ///< without the newline, at most walked_bytes of it
};

/// Lines of a text that arrives in pieces, in memory of one line.
class LineSplitter {
  public:
    /// Calls `take(WalkedLine)` for every line that ends in the piece.
    template <class Take>
    void feed(std::string_view piece, Take take)
    {
        while (!piece.empty()) {
            const auto newline = piece.find('\n');
            const auto part = piece.substr(0, newline);
            line_ += part.substr(0, walked_bytes - std::min(line_.size(), walked_bytes));
            if (newline == std::string_view::npos) {
                end_ += part.size();
                return;
            }
            end_ += newline + 1;
            take(WalkedLine{.number = ++number_, .begin = begin_, .end = end_, .text = line_});
            line_.clear();
            begin_ = end_;
            piece.remove_prefix(newline + 1);
        }
    }

    /// For a last line without a newline.
    template <class Take>
    void finish(Take take)
    {
        if (end_ > begin_) {
            take(WalkedLine{.number = ++number_, .begin = begin_, .end = end_, .text = line_});
        }
    }

  private:
    std::uint64_t number_ = 0;
    std::uint64_t begin_ = 0;
    std::uint64_t end_ = 0;
    std::string line_;
};

/// Calls `take(WalkedLine)` for the lines of the document's first `most` bytes.
template <class Take>
void walk_lines(const Document& document, Take take,
                std::uint64_t most = std::numeric_limits<std::uint64_t>::max())
{
    DocumentReader reader(document);
    LineSplitter splitter;
    std::uint64_t seen = 0;
    for (auto piece = reader.next(); !piece.empty() && seen < most; piece = reader.next()) {
        splitter.feed(piece, take);
        seen += piece.size();
    }
    splitter.finish(take);
}

} // namespace berth::guest

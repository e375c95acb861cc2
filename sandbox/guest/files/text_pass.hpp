#pragma once

#include "sandbox/guest/files/content_type.hpp"
#include "sandbox/guest/files/text_scan.hpp"
#include "sandbox/guest/files/utf16.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::guest {

/// Lines to keep of a text.
struct TextWindow {
    std::uint64_t skip = 0;   ///< lines
    std::uint64_t limit = 0;  ///< lines; 0: the text is only counted
    std::uint64_t budget = 0; ///< bytes of UTF-8
};

/// One pass over a text: the lines of a window, and what is told about all of it that passed.
class TextPass {
  public:
    /// `from_begin`: what is fed begins with the file's first byte, where a byte order mark may be.
    TextPass(TextEncoding encoding, const TextWindow& window, bool from_begin = true);

    void feed(std::string_view piece);
    /// At the end of what is fed.
    void finish();

    /// Nothing more will be kept.
    [[nodiscard]] bool page_full() const noexcept { return window_.full(); }

    [[nodiscard]] std::uint64_t lines() const noexcept { return counter_.lines(); }

    /// Sets content, line_count and truncated_by. Once, after finish().
    void give_page(protocol::ReadFileReply& reply);
    /// Sets kind, total_lines, encoding, line_ending and final_newline. After finish().
    void describe(protocol::ReadFileReply& reply);

  private:
    void scan(std::string_view text);
    [[nodiscard]] std::string encoding_name();

    TextEncoding encoding_;
    std::size_t bom_left_;
    std::optional<Utf16Decoder> utf16_;
    std::string decoded_;
    LineCounter counter_;
    Utf8Check check_;
    LineWindow window_;
};

} // namespace berth::guest

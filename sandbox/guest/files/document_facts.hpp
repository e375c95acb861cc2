#pragma once

#include "sandbox/guest/files/document.hpp"

#include <string>
#include <string_view>

namespace berth::guest {

inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// What of a document decides how texts are put into it.
struct DocumentFacts {
    bool all_crlf = false; ///< every line end is CRLF, and there is one
    bool mixed = false;    ///< some are, and some are LF
    bool bom = false;
    bool binary = false; ///< it has a NUL
};

/// Reads the whole.
[[nodiscard]] DocumentFacts facts_of(const Document& document);

/// Reads the end.
[[nodiscard]] bool ends_with_newline(const Document& document);

/// Nothing of the original would be another byte. Reads both, up to the first difference.
[[nodiscard]] bool is_as_original(const Document& document);

/// SHA-256 of the present content. Reads the whole.
[[nodiscard]] std::string hash_of(const Document& document);

/// Every newline that follows no carriage return gets one.
[[nodiscard]] std::string with_crlf(std::string_view text);

} // namespace berth::guest

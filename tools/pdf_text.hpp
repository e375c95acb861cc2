#pragma once

#include "tools/read_file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::tools {

/// Pages that are read when the call says no number.
inline constexpr std::uint64_t pdf_pages = 20;

/// The text of a PDF in the sandbox by page, made by pdftotext there; where that cannot be, the
/// description of a binary file with the reason. `reply`: as the guest described the file.
[[nodiscard]] Result pdf_text(Context& context, const ReadFile::Args& args,
                              const protocol::ReadFileReply& reply);

/// What a program said of some pages of a PDF.
struct PdfPages {
    std::uint64_t total = 0; ///< pages of the file; 0: not known
    std::uint64_t first = 1;
    std::uint64_t asked = 0; ///< how many
    std::string text;        ///< a form feed ends each page
    bool cut = false;        ///< text does not reach the end of the last page
    std::string complaint;   ///< of the program, else empty
};

[[nodiscard]] Result pdf_report(const protocol::ReadFileReply& reply, const PdfPages& pages,
                                const Settings& settings);

} // namespace berth::tools

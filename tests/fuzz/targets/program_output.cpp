// What programs in the sandbox say of a PDF or an archive: OFFSET LIMIT TOTAL, a byte each ====
// COMPLAINT ==== OUTPUT.

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tools/archive_listing.hpp"
#include "tools/pdf_text.hpp"
#include "tools/render.hpp"

#include <string>

BERTH_FUZZ_TARGET(program_output)
{
    using namespace berth::tools;
    using berth::fuzz::byte_at;
    using berth::fuzz::require;
    const auto [numbers, error_output, output] = berth::fuzz::parts_of<3>(input);
    const std::string complaint = berth::visible(error_output); // as it comes from a SandboxScript
    Settings settings;
    settings.read_budget = 1000;
    ReadFile::Args args;
    args.offset = static_cast<std::int8_t>(byte_at(numbers, 0));
    args.limit = byte_at(numbers, 1);
    const bool whole = (byte_at(numbers, 2) & 1U) != 0;
    try {
        const auto listing =
            listing_report({.path = "/a.zip"}, output, whole, complaint, args, settings);
        require(berth::utf8::is_valid(listing.text), "a listing is UTF-8");
    } catch (const berth::Error& error) {
        require(berth::utf8::is_valid(error.what()), "a message is UTF-8");
    }
    const PdfPages pages{.total = byte_at(numbers, 2),
                         .first = byte_at(numbers, 0) + 1UL,
                         .asked = byte_at(numbers, 1),
                         .text = std::string(output),
                         .cut = !whole,
                         .complaint = complaint};
    try {
        const auto text = pdf_report({.path = "/a.pdf"}, pages, settings);
        require(berth::utf8::is_valid(text.text), "pages are UTF-8");
    } catch (const berth::Error& error) {
        require(berth::utf8::is_valid(error.what()), "a message is UTF-8");
    }
}

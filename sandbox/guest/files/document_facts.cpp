#include "sandbox/guest/files/document_facts.hpp"

#include "sandbox/base/sha256.hpp"
#include "sandbox/guest/files/text_scan.hpp"

#include <algorithm>

namespace berth::guest {

DocumentFacts facts_of(const Document& document)
{
    DocumentFacts facts;
    LineCounter lines;
    DocumentReader reader(document);
    bool first = true;
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        if (first) {
            facts.bom = piece.starts_with(byte_order_mark);
        }
        first = false;
        facts.binary |= piece.find('\0') != std::string_view::npos;
        lines.feed(piece);
    }
    facts.all_crlf = lines.all_crlf();
    facts.mixed = lines.mixed();
    return facts;
}

bool ends_with_newline(const Document& document)
{
    if (document.pieces().empty()) {
        return false;
    }
    const auto& last = document.pieces().back();
    return last.added ? document.added(last).ends_with('\n')
                      : document.original().at(last.begin + last.size - 1, 1).ends_with('\n');
}

bool is_as_original(const Document& document)
{
    if (document.size() != document.original_size()) {
        return false;
    }
    OriginalReader original = document.original();
    DocumentReader reader(document);
    std::uint64_t at = 0;
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        while (!piece.empty()) {
            const auto before = original.at(at, piece.size());
            if (!piece.starts_with(before)) {
                return false;
            }
            at += before.size();
            piece.remove_prefix(before.size());
        }
    }
    return true;
}

std::string hash_of(const Document& document)
{
    Sha256 hash;
    DocumentReader reader(document);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        hash.update(piece);
    }
    return hash.finish();
}

std::string with_crlf(std::string_view text)
{
    std::string result;
    result.reserve(text.size() + static_cast<std::size_t>(std::ranges::count(text, '\n')));
    char before = 0;
    for (const char c : text) {
        if (c == '\n' && before != '\r') {
            result += '\r';
        }
        result += before = c;
    }
    return result;
}

} // namespace berth::guest

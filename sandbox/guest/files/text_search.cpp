#include "sandbox/guest/files/text_search.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <cstring>

namespace berth::guest {

std::vector<std::uint64_t> find_text(const Document& document, std::string_view text,
                                     Overlap overlap)
{
    std::vector<std::uint64_t> matches;
    if (text.size() > document.size()) {
        return matches;
    }
    DocumentReader reader(document);
    std::string window;     // what a match could still begin in
    std::uint64_t base = 0; // its place in the document
    const std::size_t enough = text.size() + std::max(text.size(), stream_piece);
    for (bool more = true; more;) {
        // As much as the text at a step, so that a long text is not moved again for every piece.
        while (more && window.size() < enough) {
            const auto piece = reader.next();
            window += piece;
            more = !piece.empty();
        }
        std::size_t from = 0;
        while (const void* hit =
                   ::memmem(window.data() + from, window.size() - from, text.data(), text.size())) {
            const auto at = static_cast<std::size_t>(static_cast<const char*>(hit) - window.data());
            if (matches.size() == max_matches) {
                throw Error(ErrorCode::too_large,
                            "old_text occurs more than " + std::to_string(max_matches) +
                                " times in " + visible(document.path()),
                            "use sed in bash_exec for that many");
            }
            matches.push_back(base + at);
            // Only behind the first: a long text that repeats itself is compared again at each
            // step.
            const bool next = overlap == Overlap::reported && matches.size() == 1;
            from = at + (next ? 1 : text.size());
        }
        const std::size_t tail = std::min(window.size() - from, text.size() - 1);
        const std::size_t done = window.size() - tail;
        window.erase(0, done);
        base += done;
    }
    return matches;
}

std::vector<std::string_view> line_ends_behind(const Document& document,
                                               const std::vector<std::uint64_t>& offsets)
{
    std::vector<std::string_view> ends;
    DocumentReader reader(document);
    std::uint64_t base = 0;
    char last = 0; // of the piece before
    for (auto piece = reader.next(); !piece.empty() && ends.size() < offsets.size();
         piece = reader.next()) {
        std::size_t from = 0;
        while (ends.size() < offsets.size()) {
            const std::uint64_t wanted = offsets[ends.size()];
            from = std::max(from, static_cast<std::size_t>(std::max(wanted, base) - base));
            from = std::min(from, piece.size());
            const auto newline = piece.find('\n', from);
            if (newline == std::string_view::npos) {
                break;
            }
            const char before = newline > 0 ? piece[newline - 1] : last;
            // One whose carriage return is before the offset ends with the newline alone.
            const bool crlf = before == '\r' && base + newline > wanted;
            ends.emplace_back(crlf ? "\r\n" : "\n");
            from = newline;
        }
        base += piece.size();
        last = piece.back();
    }
    ends.resize(offsets.size());
    return ends;
}

std::vector<std::uint64_t> lines_of(const Document& document,
                                    const std::vector<std::uint64_t>& positions, std::size_t limit)
{
    std::vector<std::uint64_t> lines;
    const std::size_t wanted = std::min(limit, positions.size());
    DocumentReader reader(document);
    std::uint64_t base = 0;
    std::uint64_t line = 1;
    for (auto piece = reader.next(); !piece.empty() && lines.size() < wanted;
         piece = reader.next()) {
        std::size_t from = 0;
        while (lines.size() < wanted && positions[lines.size()] < base + piece.size()) {
            const auto to = static_cast<std::size_t>(positions[lines.size()] - base);
            line += static_cast<std::uint64_t>(
                std::count(piece.begin() + static_cast<std::ptrdiff_t>(from),
                           piece.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
            from = to;
            lines.push_back(line);
        }
        line += static_cast<std::uint64_t>(
            std::count(piece.begin() + static_cast<std::ptrdiff_t>(from), piece.end(), '\n'));
        base += piece.size();
    }
    return lines;
}

} // namespace berth::guest

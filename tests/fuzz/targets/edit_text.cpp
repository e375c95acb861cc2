// The places of a text in a document, as it is and through small differences: OLD ==== NEW ====
// DOCUMENT.

#include "sandbox/base/error.hpp"
#include "sandbox/guest/files/nearest_lines.hpp"
#include "sandbox/guest/files/text_search.hpp"
#include "sandbox/guest/files/tolerant_match.hpp"
#include "tests/fuzz/guest_document.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using berth::fuzz::require;
using berth::guest::Document;
using berth::guest::TolerantMatch;

/// What is never a part of something that is looked through, as blanks, line ends and quotes are:
/// between two of these a text that is there as it is must be found in the other way too.
bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

bool find_exactly(const Document& document, std::string_view old_text, std::string_view text)
{
    const auto places = berth::guest::find_text(document, old_text, berth::guest::Overlap::skipped);
    std::size_t next = 0;
    for (const auto place : places) {
        require(text.find(old_text, next) == place, "every place, in order, is one of the text");
        next = place + old_text.size();
    }
    require(text.find(old_text, next) == std::string_view::npos, "no place is missed");
    return !places.empty();
}

std::vector<TolerantMatch> find_tolerantly(const Document& document, std::string_view old_text,
                                           bool whole_lines)
try {
    return berth::guest::find_tolerant(
        document, {.text = old_text, .most = 1000, .whole_lines = whole_lines});
} catch (const berth::Error& error) {
    require(error.code() == berth::ErrorCode::too_large, "nothing but its size is against a text");
    return {};
}

void check_match(const TolerantMatch& match, std::string_view old_text, std::string_view new_text,
                 std::string_view text)
{
    require(match.begin <= text.size() &&
                text.substr(match.begin, match.actual.size()) == match.actual,
            "what is there is what is told");
    require(match.through != 0 || match.open_end || match.actual == old_text,
            "what differs in nothing is the same");
    (void)berth::guest::tolerant_replacement(old_text, new_text, match);
    require(match.open_end ||
                berth::guest::tolerant_replacement(old_text, old_text, match) == match.actual,
            "lines that stay are those of the document");
}

} // namespace

BERTH_FUZZ_TARGET(edit_text)
{
    const auto [old_text, new_text, text] = berth::fuzz::parts_of<3>(input);
    if (old_text.empty()) {
        return;
    }
    berth::fuzz::GuestDocument document(text);
    const bool exact = find_exactly(*document, old_text, text);
    const auto matches = find_tolerantly(*document, old_text, false);
    for (const auto& match : matches) {
        check_match(match, old_text, new_text, text);
    }
    const bool blank_first = old_text.front() == ' ' || old_text.front() == '\t';
    if (exact && (is_letter(old_text.front()) || blank_first) && is_letter(old_text.back())) {
        require(!matches.empty(), "what is there as it is, is there for who looks through more");
    }
    if (old_text.ends_with('\n')) {
        for (const auto& match : find_tolerantly(*document, old_text, true)) {
            check_match(match, old_text, new_text, text);
            require(match.begin == 0 || text[match.begin - 1] == '\n', "a line begins there");
        }
    }
    for (const auto& near : berth::guest::nearest_lines(*document, old_text)) {
        require(near.line >= 1 && near.percent <= 100, "a near place is one");
    }
}

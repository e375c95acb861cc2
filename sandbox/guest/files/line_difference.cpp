#include "sandbox/guest/files/line_difference.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/files/similarity.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth::guest {
namespace {

bool is_combining_mark(std::string_view character)
{
    return character >= "\u0300" && character <= "\u036F" && character.size() == 2;
}

/// A letter with accents, composed (NFC) or not (NFD), becomes the same sign. It tells the two
/// forms apart without the tables of Unicode; letters of other scripts are left as they are.
std::string fold_accents(std::string_view line, bool* marks = nullptr)
{
    std::string result;
    std::size_t letter = 0; // where the last one begins in the result
    while (!line.empty()) {
        const auto size = std::max<std::size_t>(utf8::character_length(line), 1);
        const auto character = line.substr(0, size);
        line.remove_prefix(size);
        const bool mark = is_combining_mark(character);
        // Latin with diacritics: U+00C0 to U+024F, U+1E00 to U+1EFF.
        const bool composed = (size == 2 && character >= "\u00C0" && character <= "\u024F") ||
                              (size == 3 && character >= "\u1E00" && character <= "\u1EFF");
        if (mark) {
            result.resize(letter);
        } else {
            letter = result.size();
        }
        result += mark || composed ? std::string_view("\x01") : character;
        if (marks != nullptr) {
            *marks |= mark;
        }
    }
    return result;
}

bool has_combining_mark(std::string_view line)
{
    bool found = false;
    (void)fold_accents(line, &found);
    return found;
}

/// What does not count in a comparison.
struct Leniency {
    bool end_blanks = true;
    bool blanks = true;
    bool signs = true;
    bool letters = true;
    bool accents = true;
};

std::string_view without(std::string_view text, std::string_view end)
{
    const auto last = text.find_last_not_of(end);
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view without_blanks(std::string_view text)
{
    return without(text, " \t");
}

std::string folded(std::string_view line, const Leniency& leniency)
{
    const auto value = [](Fold one) { return static_cast<unsigned>(one); };
    std::string text = fold(line, (leniency.signs ? value(Fold::signs) : 0) |
                                      (leniency.letters ? value(Fold::letters) : 0));
    if (leniency.accents) {
        text = fold_accents(text);
    }
    const auto body = without_blanks(text);
    const auto end = leniency.end_blanks ? "" : text.substr(body.size());
    // A blank at the beginning is one too.
    return (leniency.blanks ? fold(body, value(Fold::blanks)) : std::string(body)) + end;
}

std::string name_blanks_at_end(std::string_view wanted, std::string_view actual)
{
    const auto count = [](std::string_view line) {
        return std::to_string(line.size() - without_blanks(line).size());
    };
    return "blanks at the end (" + count(actual) + " in the file, " + count(wanted) +
           " in old_text)";
}

std::string name_blanks(std::string_view wanted, std::string_view actual)
{
    const auto has_tab = [](std::string_view text) {
        return without_blanks(text).find('\t') != std::string_view::npos;
    };
    return has_tab(wanted) == has_tab(actual) ? "the number of blanks"
           : has_tab(actual)                  ? "tabs where old_text has spaces"
                                              : "spaces where old_text has tabs";
}

std::string name_accents(std::string_view wanted)
{
    return has_combining_mark(wanted)
               ? "the Unicode form: old_text has accents as characters of their own (NFD), the "
                 "file composed letters (NFC)"
               : "the Unicode form: the file has accents as characters of their own (NFD), "
                 "old_text composed letters (NFC)";
}

std::string joined(const std::vector<std::string>& names)
{
    std::string result;
    for (std::size_t i = 0; i < names.size(); ++i) {
        result += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    }
    return result;
}

/// Each kind without which the lines would not be the same; none when they differ in more, or in
/// nothing.
std::vector<std::string> kinds(std::string_view wanted, std::string_view actual)
{
    // Composed letters all look the same without their accents: of two such lines they tell
    // nothing.
    const Leniency all{.accents = has_combining_mark(wanted) != has_combining_mark(actual)};
    std::vector<std::string> names;
    if (folded(wanted, all) != folded(actual, all)) {
        return names;
    }
    const auto counts = [&](bool Leniency::* kind) {
        Leniency strict = all;
        strict.*kind = false;
        return folded(wanted, strict) != folded(actual, strict);
    };
    if (counts(&Leniency::letters)) {
        names.emplace_back("capital letters");
    }
    if (counts(&Leniency::signs)) {
        names.emplace_back("quotes, dashes or special blanks");
    }
    if (counts(&Leniency::blanks)) {
        names.push_back(name_blanks(wanted, actual));
    }
    if (counts(&Leniency::end_blanks)) {
        names.push_back(name_blanks_at_end(wanted, actual));
    }
    if (counts(&Leniency::accents)) {
        names.push_back(name_accents(wanted));
    }
    return names;
}

} // namespace

std::string_view without_returns(std::string_view line)
{
    return without(line, "\r");
}

std::string describe_difference(std::string_view wanted, std::string_view actual)
{
    const auto wanted_text = without_returns(wanted);
    const auto actual_text = without_returns(actual);
    auto names = kinds(wanted_text, actual_text);
    if (names.empty() && wanted_text != actual_text) {
        return "the text";
    }
    if (wanted.size() - wanted_text.size() != actual.size() - actual_text.size()) {
        names.emplace_back("a carriage return (CRLF) at the end");
    }
    return names.empty() ? "the text" : joined(names);
}

} // namespace berth::guest

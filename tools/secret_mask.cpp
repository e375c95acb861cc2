#include "tools/secret_mask.hpp"

#include "sandbox/base/hex.hpp"
#include "tools/line_starts.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace berth::tools {
namespace {

/// Of a form that a cut has parted, the least that is taken for a part of it.
constexpr std::size_t shortest_part = 6;

bool is_line_end(char character) noexcept
{
    return character == '\n' || character == '\r';
}

/// A text as it is searched: characters, and where each of them begins in the original.
struct View {
    std::string text;
    std::vector<std::size_t> places;

    void add(char character, std::size_t place)
    {
        text += character;
        places.push_back(place);
    }
};

/// Without ends of lines, and without what berth has put in front of them.
View plain_view(const std::string& text, const LineStarts& starts = {})
{
    View view;
    std::size_t line = 0;
    std::size_t hidden = starts.empty() ? 0 : starts[0]; // up to there
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_line_end(text[i]) && i >= hidden) {
            view.add(text[i], i);
        }
        if (text[i] == '\n' && ++line < starts.size()) {
            hidden = i + 1 + starts[line];
        }
    }
    return view;
}

View decoded_view(const View& plain)
{
    constexpr unsigned base = 16;
    View view;
    const auto& text = plain.text;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto high =
            text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : std::nullopt;
        const auto low = high ? hex_value(text[i + 2]) : std::nullopt;
        if (low) {
            view.add(static_cast<char>(*high * base + *low), plain.places[i]);
            i += 2;
        } else {
            view.add(text[i], plain.places[i]);
        }
    }
    return view;
}

} // namespace

/// One text that is looked through.
class SecretMask::Search {
  public:
    explicit Search(const std::string& text) : text_(text) {}

    void look(const View& view, const std::vector<Form>& forms, bool encoded, bool parts)
    {
        const auto cuts = parts ? cuts_of(view) : std::vector<std::size_t>();
        for (const auto& [name, form] : forms) {
            if (encoded && !form.may_be_encoded) {
                continue;
            }
            for (auto at = view.text.find(form.text); at != std::string::npos;
                 at = view.text.find(form.text, at + form.text.size())) {
                hide(view, at, at + form.text.size(), name);
            }
            if (parts) {
                look_for_beginnings(view, cuts, form.text, name);
                look_for_ends(view, cuts, form.text, name);
            }
        }
    }

    [[nodiscard]] std::vector<SecretPlace> take() { return joined_places(std::move(found_)); }

  private:
    /// In order, where something may be left out: at both ends, beside what berth says in brackets,
    /// of which lines, or what is behind their output, consist, and where it has cut a line.
    [[nodiscard]] std::vector<std::size_t> cuts_of(const View& view) const
    {
        std::vector<std::size_t> cuts{0};
        for (std::size_t i = 0; i < view.places.size(); ++i) {
            const auto place = view.places[i];
            const bool beside_bracket = place > 0 && is_line_end(text_[place - 1]) &&
                                        (text_[place] == '[' || (i > 0 && view.text[i - 1] == ']'));
            if (beside_bracket || is_cut_line(place)) {
                cuts.push_back(i);
            }
        }
        cuts.push_back(view.text.size());
        return cuts;
    }

    /// Marks of grep_files, of lines that errors show, and of progress.
    [[nodiscard]] bool is_cut_line(std::size_t place) const
    {
        constexpr std::string_view mark = "…";
        const auto behind = std::string_view(text_).substr(place);
        const auto before = std::string_view(text_).substr(0, place);
        if (behind.front() == ' ' || behind.front() == mark.front()) { // few are worth a look
            return behind.starts_with(" [cut]") || behind.starts_with(mark);
        }
        return !before.empty() && (before.back() == ' ' || before.back() == mark.back()) &&
               (before.ends_with("[cut] ") || before.ends_with(mark));
    }

    /// Of a form before a cut. Found by its first characters, and not by trying each length at each
    /// cut: a log has a bracket in every line, and a key thousands of characters.
    void look_for_beginnings(const View& view, const std::vector<std::size_t>& cuts,
                             std::string_view form, std::size_t name)
    {
        const std::string_view text = view.text;
        const auto first = form.substr(0, shortest_part);
        for (auto at = text.find(first); at != std::string_view::npos;
             at = text.find(first, at + 1)) {
            const auto rest = text.substr(at);
            const auto alike =
                static_cast<std::size_t>(std::ranges::mismatch(rest, form).in1 - rest.begin());
            const auto cut = *std::prev(std::ranges::upper_bound(cuts, at + alike));
            if (alike < form.size() && cut >= at + shortest_part) {
                hide(view, at, cut, name, /*is_part=*/true);
            }
        }
    }

    /// Of a form behind a cut.
    void look_for_ends(const View& view, const std::vector<std::size_t>& cuts,
                       std::string_view form, std::size_t name)
    {
        const std::string_view text = view.text;
        const auto last = form.substr(form.size() - shortest_part);
        for (auto at = text.find(last); at != std::string_view::npos;
             at = text.find(last, at + 1)) {
            const auto end = at + last.size();
            const auto before = text.substr(0, end);
            const auto alike = static_cast<std::size_t>(
                std::mismatch(before.rbegin(), before.rend(), form.rbegin(), form.rend()).first -
                before.rbegin());
            const auto cut = *std::ranges::lower_bound(cuts, end - alike);
            if (alike < form.size() && cut <= at) {
                hide(view, cut, end, name, /*is_part=*/true);
            }
        }
    }

    /// A part of the view; of what is encoded all of the last character.
    void hide(const View& view, std::size_t begin, std::size_t end, std::size_t name,
              bool is_part = false)
    {
        const auto last = view.places[end - 1];
        const auto next = end < view.places.size() ? view.places[end] : text_.size();
        const bool encoded = text_[last] == '%' && view.text[end - 1] != '%';
        found_.push_back(
            {view.places[begin], encoded ? std::min(last + 3, next) : last + 1, name, is_part});
    }

    const std::string& text_;
    std::vector<SecretPlace> found_;
};

SecretMask::SecretMask(const std::vector<Secret>& secrets)
{
    for (const auto& [name, value] : secrets) {
        for (auto& form : secret_forms(value)) {
            forms_.push_back({names_.size(), std::move(form)});
        }
        names_.push_back(name);
    }
    std::ranges::sort(forms_, std::ranges::greater(),
                      [](const Form& form) { return form.form.text.size(); });
}

std::vector<SecretPlace> SecretMask::places(const std::string& text, bool parts) const
{
    if (forms_.empty() || text.size() < shortest_part) {
        return {};
    }
    Search search(text);
    const auto look = [&](const View& plain) {
        search.look(plain, forms_, /*encoded=*/false, parts);
        if (text.find('%') != std::string::npos) {
            search.look(decoded_view(plain), forms_, /*encoded=*/true, parts);
        }
    };
    look(plain_view(text));
    for (const auto& starts : {numbered_starts(text), diff_starts(text)}) {
        if (!starts.empty()) {
            look(plain_view(text, starts));
        }
    }
    return search.take();
}

std::string SecretMask::mask(const std::string& text, std::set<std::string>& met) const
{
    std::string masked;
    std::size_t at = 0;
    for (const auto& place : places(text, /*parts=*/true)) {
        masked.append(text, at, place.begin - at).append("[secret " + names_[place.name] + "]");
        met.insert(names_[place.name]);
        at = place.end;
    }
    return masked.append(text, at);
}

std::vector<SecretPlace> joined_places(std::vector<SecretPlace> places)
{
    // Of those that begin at one place one that is whole is meant, and the longest of them.
    std::ranges::sort(places, [](const SecretPlace& one, const SecretPlace& other) {
        return std::tuple(one.begin, one.is_part, other.end) <
               std::tuple(other.begin, other.is_part, one.end);
    });
    std::vector<SecretPlace> joined;
    for (const auto& place : places) {
        if (joined.empty() || place.begin >= joined.back().end) {
            joined.push_back(place);
        } else {
            joined.back().end = std::max(joined.back().end, place.end);
        }
    }
    return joined;
}

} // namespace berth::tools

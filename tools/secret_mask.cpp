#include "tools/secret_mask.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/hex.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace berth::tools {
namespace {

/// Of a form that a cut has parted, the least that is taken for a part of it.
constexpr std::size_t shortest_part = 6;

bool is_line_end(char character) noexcept
{
    return character == '\n' || character == '\r';
}

std::string without_line_ends(std::string_view text)
{
    std::string rest(text);
    std::erase_if(rest, is_line_end);
    return rest;
}

/// What base64 has of `value` behind `before` other bytes, whatever they and those behind it are.
std::string base64_inside(const std::string& value, std::size_t before)
{
    constexpr std::array<std::size_t, 3> shared{0, 2, 3}; // characters with bits of what is before
    constexpr std::size_t bits_of_byte = 8;
    constexpr std::size_t bits_of_character = 6;
    const auto whole = (before + value.size()) * bits_of_byte / bits_of_character;
    return base64_encode(std::string(before, '\0') + value)
        .substr(0, whole)
        .substr(shared.at(before));
}

std::string other_alphabet(std::string text)
{
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
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

View plain_view(const std::string& text)
{
    View view;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_line_end(text[i])) {
            view.add(text[i], i);
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

    void look(const View& view, const std::vector<Form>& forms, bool encoded)
    {
        const auto cuts = cuts_of(view);
        for (const auto& form : forms) {
            if (encoded && !form.may_be_encoded) {
                continue;
            }
            for (auto at = view.text.find(form.text); at != std::string::npos;
                 at = view.text.find(form.text, at + form.text.size())) {
                hide(view, at, at + form.text.size(), form.name);
            }
            for (const auto cut : cuts) {
                look_for_parts(view, cut, form);
            }
        }
    }

    [[nodiscard]] std::string result(const std::vector<std::string>& names,
                                     std::set<std::string>& met)
    {
        // Of two that begin at one place, one that is whole is meant.
        std::ranges::sort(hidden_, {}, [](const Hidden& hidden) {
            return std::pair(hidden.begin, hidden.is_part);
        });
        std::string masked;
        std::size_t at = 0;
        for (const auto& hidden : hidden_) {
            if (hidden.begin >= at) {
                masked.append(text_, at, hidden.begin - at);
                masked += "[secret " + names[hidden.name] + "]";
                met.insert(names[hidden.name]);
            }
            at = std::max(at, hidden.end);
        }
        return masked.append(text_, at);
    }

    [[nodiscard]] bool found() const noexcept { return !hidden_.empty(); }

  private:
    struct Hidden {
        std::size_t begin;
        std::size_t end;
        std::size_t name;
        bool is_part;
    };

    /// Where something may be left out: at both ends, and beside what berth says in brackets, of
    /// which lines, or what is behind their output, consist.
    [[nodiscard]] std::vector<std::size_t> cuts_of(const View& view) const
    {
        std::vector<std::size_t> cuts{0, view.text.size()};
        for (std::size_t i = 0; i < view.places.size(); ++i) {
            const auto place = view.places[i];
            if (place > 0 && is_line_end(text_[place - 1]) &&
                (text_[place] == '[' || (i > 0 && view.text[i - 1] == ']'))) {
                cuts.push_back(i);
            }
        }
        return cuts;
    }

    /// The beginning of a form before a cut, its end behind it.
    void look_for_parts(const View& view, std::size_t cut, const Form& form)
    {
        const std::string_view whole = form.text;
        const std::string_view before(view.text.data(), cut);
        const std::string_view behind = std::string_view(view.text).substr(cut);
        for (auto size = std::min(whole.size() - 1, before.size()); size >= shortest_part; --size) {
            if (before.ends_with(whole.substr(0, size))) {
                hide(view, cut - size, cut, form.name, /*is_part=*/true);
                break;
            }
        }
        for (auto size = std::min(whole.size() - 1, behind.size()); size >= shortest_part; --size) {
            if (behind.starts_with(whole.substr(whole.size() - size))) {
                hide(view, cut, cut + size, form.name, /*is_part=*/true);
                break;
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
        hidden_.push_back(
            {view.places[begin], encoded ? std::min(last + 3, next) : last + 1, name, is_part});
    }

    const std::string& text_;
    std::vector<Hidden> hidden_;
};

SecretMask::SecretMask(const std::vector<Secret>& secrets)
{
    for (const auto& [name, value] : secrets) {
        if (value.size() < shortest) {
            continue;
        }
        const auto index = names_.size();
        names_.push_back(name);
        add(index, without_line_ends(value), true);
        for (std::size_t before = 0; before < 3; ++before) {
            const auto encoded = base64_inside(value, before);
            add(index, encoded);
            add(index, other_alphabet(encoded));
        }
        add(index, hex_of(value));
        add(index, hex_of(value, large_hex_digits));
        auto of_form = without_line_ends(value); // application/x-www-form-urlencoded
        std::ranges::replace(of_form, ' ', '+');
        add(index, std::move(of_form), true);
    }
    std::ranges::sort(forms_, std::ranges::greater(),
                      [](const Form& form) { return form.text.size(); });
}

void SecretMask::add(std::size_t name, std::string text, bool may_be_encoded)
{
    const bool known = std::ranges::any_of(
        forms_, [&](const Form& form) { return form.text == text && form.name == name; });
    if (!known && text.size() >= shortest) {
        forms_.push_back({name, std::move(text), may_be_encoded});
    }
}

std::string SecretMask::mask(const std::string& text, std::set<std::string>& met) const
{
    if (forms_.empty() || text.size() < shortest_part) {
        return text;
    }
    Search search(text);
    const auto plain = plain_view(text);
    search.look(plain, forms_, /*encoded=*/false);
    if (text.find('%') != std::string::npos) {
        search.look(decoded_view(plain), forms_, /*encoded=*/true);
    }
    return search.found() ? search.result(names_, met) : text;
}

} // namespace berth::tools

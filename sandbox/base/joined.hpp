#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace berth {

/// One text of all items, "a, b, c". `text_of` is what std::invoke gives an item to, for its text:
/// a function, or a pointer to a member.
template <class Items, class TextOf = std::identity>
[[nodiscard]] std::string joined(const Items& items, std::string_view between = ", ",
                                 const TextOf& text_of = {})
{
    std::string text;
    for (const auto& item : items) {
        text += text.empty() ? std::string_view() : between;
        text += std::invoke(text_of, item);
    }
    return text;
}

/// The same of the first `most` alone: "a, b and 3 more".
template <class Items, class TextOf = std::identity>
[[nodiscard]] std::string joined_first(const Items& items, std::size_t most,
                                       const TextOf& text_of = {})
{
    std::string text;
    std::size_t count = 0;
    for (const auto& item : items) {
        if (++count > most) {
            break;
        }
        text += count == 1 ? "" : ", ";
        text += std::invoke(text_of, item);
    }
    return items.size() > most ? text + " and " + std::to_string(items.size() - most) + " more"
                               : text;
}

} // namespace berth

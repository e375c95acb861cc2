#pragma once

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

} // namespace berth

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace berth::filter {

/// What somebody asks the DNS (RFC 1035, 4.1).
struct NameQuestion {
    std::string name;    ///< with dots; empty: the root
    std::string refusal; ///< the answer that refuses it
};

/// Nothing of what is no question of one name, to which no answer is due.
[[nodiscard]] std::optional<NameQuestion> read_name_question(std::string_view packet);

} // namespace berth::filter

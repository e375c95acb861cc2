#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth::server {

enum class Kind : unsigned char { text, choice, boolean, duration, bytes, number, list, commands };

/// `commands` is a list whose items have a line each where they are one text: they have commas.

/// One setting. Its flag is `--` + key and its variable BERTH_ + KEY, dots and underscores adapted.
struct Definition {
    std::string_view key;
    Kind kind = Kind::text;
    std::string_view fallback; ///< as it would stand in the file
    /// In the unit of the kind: milliseconds, bytes, or as it is. Equal: not checked.
    double least = 0;
    double most = 0;
    std::string_view choices; ///< of a choice, separated by |
    bool has_flag = false;
    std::string_view help;
};

/// Every setting of berth, sorted by key: the one table behind the flags, the environment, the
/// file, `berth config` and the documentation.
[[nodiscard]] std::span<const Definition> definitions();

/// One that is no setting of berth's, with what it is for: named in the help alone.
struct OtherVariable {
    std::string_view name;
    std::string_view help;
};

/// Those that the backend e2b reads, sorted.
[[nodiscard]] std::span<const OtherVariable> other_variables();

[[nodiscard]] const Definition* find_definition(std::string_view key);

[[nodiscard]] std::string flag_of(const Definition& definition);     ///< "--state-dir"
[[nodiscard]] std::string variable_of(const Definition& definition); ///< "BERTH_STATE_DIR"

} // namespace berth::server

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

/// What `?` and a set stand for one of: a character of UTF-8 (a byte that belongs to none counts as
/// one), or a byte, as in the ignore rules of git and ripgrep, to which `?` is half of an `ä`.
enum class GlobUnit : std::uint8_t { character, byte };

/// One component of a glob pattern: `*` any characters, `?` one character, `[a-z]` and `[!a-z]` one
/// of a set, `\x` the character x. Immutable, so any thread may match.
class GlobSegment {
  public:
    /// `text` has no '/' and no braces to expand. Throws Error(invalid_argument); `offset` is where
    /// `text` begins in the pattern that the message talks about.
    [[nodiscard]] static GlobSegment compile(std::string_view text, std::size_t offset,
                                             GlobUnit unit = GlobUnit::character);

    [[nodiscard]] bool matches(std::string_view name) const noexcept;

    /// The byte every match ends with, -1 when there is no such byte: a cheap first look.
    [[nodiscard]] int last_byte() const noexcept;

    /// Whether it matches exactly one name, which is then literal().
    [[nodiscard]] bool is_literal() const noexcept;
    [[nodiscard]] std::string literal() const;

  private:
    enum class Kind : std::uint8_t { text, any_character, any_run, set };
    using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

    struct Token {
        Kind kind;
        bool negated = false;
        std::string text;
        Ranges ranges;
    };

    void add_text(std::string_view text);
    std::size_t add_set(std::string_view text, std::size_t at, std::size_t offset);
    [[nodiscard]] std::size_t match_one(const Token& token, std::string_view rest) const noexcept;

    std::vector<Token> tokens_;
    GlobUnit unit_ = GlobUnit::character;
};

/// The position after the `[...]` that begins at `at`; npos when it is not closed.
[[nodiscard]] std::size_t set_end(std::string_view text, std::size_t at) noexcept;

} // namespace berth

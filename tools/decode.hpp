#pragma once

#include "sandbox/base/error.hpp"
#include "tools/aliases.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace berth::tools {

/// Inclusive; the same numbers as `minimum` and `maximum` of the schema.
struct Range {
    std::int64_t minimum = 0;
    std::int64_t maximum = 0;
    /// What is said about a number above `maximum`, beside the range.
    std::string (*hint_above)(std::int64_t value) = nullptr;
};

/// "minimum": 0 or 1 with the largest count that a schema names.
inline constexpr std::int64_t max_count = 1'000'000'000'000'000;

struct Length {
    std::size_t minimum = 0;
};

/// Takes the members of one JSON object into typed variables, one call for each member that there
/// is; finish() then throws the most telling complaint: a member nobody asked for, a wrong type, a
/// missing one. Accepts exactly what the schema of the same object accepts (a test compares the
/// two), and says better what is wrong.
///
///     Decoder in(arguments);
///     in.required("path", args.path, Length{1});
///     in.optional("limit", args.limit, Range{1, 2000});
///     in.finish();
class Decoder {
  public:
    /// `place`: of `object` for messages, as in edits[0]; empty for the arguments themselves.
    /// `object` must outlive the decoder.
    explicit Decoder(const nlohmann::json& object, std::string place = {});

    void required(std::string_view key, std::string& to, Length length = {});

    void optional(std::string_view key, std::string& to, Length length = {});
    void optional(std::string_view key, std::optional<std::string>& to, Length length = {});
    void optional(std::string_view key, bool& to);
    void optional(std::string_view key, std::int64_t& to, const Range& range);
    void optional(std::string_view key, std::optional<std::int64_t>& to, const Range& range);
    void optional(std::string_view key, std::map<std::string, std::string>& to);
    /// A string, or a list of at most `most` strings; none of them empty.
    void string_or_list(std::string_view key, std::vector<std::string>& to, std::size_t most);
    /// A SHA-256 in hex.
    void sha256(std::string_view key, std::string& to);

    template <class Enum>
    using Choices = std::initializer_list<std::pair<std::string_view, Enum>>;

    /// One of some words. `spellings`: those of them that have another one; for the hint alone.
    template <class Enum>
    void choice(std::string_view key, Enum& to, std::type_identity_t<Choices<Enum>> choices,
                std::span<const Alias> spellings = {})
    {
        std::vector<std::string_view> words;
        for (const auto& [word, value] : choices) {
            words.push_back(word);
        }
        if (const auto index = word_index(key, words, spellings)) {
            to = (choices.begin() + *index)->second;
        }
    }

    /// A list of 1 to `most` objects, each taken by `take(Decoder&, Element&)`.
    template <class Element, class Take>
    void list(std::string_view key, std::vector<Element>& to, std::size_t most, Take take)
    {
        for (auto& element : elements(key, most)) {
            take(element, to.emplace_back());
            if (auto problem = element.problem(); problem && !problem_) {
                problem_ = std::move(problem);
            }
        }
    }

    [[nodiscard]] bool has(std::string_view key) const;

    /// Throws Error(invalid_argument).
    void finish();

  private:
    const nlohmann::json* find(std::string_view key);
    std::optional<std::size_t> word_index(std::string_view key,
                                          const std::vector<std::string_view>& words,
                                          std::span<const Alias> spellings);
    std::vector<Decoder> elements(std::string_view key, std::size_t most);
    [[nodiscard]] std::optional<Error> problem();
    [[nodiscard]] std::optional<Error> unknown_member() const;
    [[nodiscard]] Error missing_members() const;
    [[nodiscard]] std::string at(std::string_view key) const;
    void complain(std::string_view key, const std::string& what, std::string hint = {});
    void wrong_type(std::string_view key, const nlohmann::json& got, std::string_view expected);
    bool take_string(std::string_view key, const nlohmann::json& value, std::string& to,
                     Length length);
    std::optional<std::int64_t> take_integer(std::string_view key, const Range& range);

    const nlohmann::json* object_;
    std::string place_;
    std::vector<std::string> known_;
    std::vector<std::string> missing_;
    std::optional<Error> problem_;
};

} // namespace berth::tools

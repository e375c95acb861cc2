#pragma once

#include "sandbox/guest/files/document.hpp"
#include "sandbox/guest/files/tolerant_match.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace berth::guest {

/// Where some lines are in a document's original, found for all of them in one pass: who looks for
/// many texts does not go through the whole for each. What it says is never too little: where it
/// does not know, a text may be anywhere. Offsets are the original's. Memory: the lines that are
/// looked for, and at most 10 MB.
class LinePlaces {
  public:
    /// `size`: of the original.
    explicit LinePlaces(std::uint64_t size) : size_(size) {}

    /// The lines of `text`, each with its newline, but for what find_tolerant() looks through.
    /// Before scan().
    void want_text(std::string_view text);
    /// A line that is this, without the blanks around it. Before scan().
    void want_line(std::string_view trimmed_line);

    /// Reads the whole. Throws Error as OriginalReader does.
    void scan(OriginalReader& original);

    /// Whole lines, which every place from `from` (a line's beginning) on is within that the text
    /// may have; in order and apart. Of a text that was not wanted: all.
    [[nodiscard]] std::vector<TextRange> ranges_of(std::string_view text, std::uint64_t from) const;

    /// A line's beginning, not before `from`, and none behind the first line from there on that is
    /// this one, the blanks around it aside; nothing when there is no such line.
    [[nodiscard]] std::optional<std::uint64_t> near_line(std::string_view trimmed_line,
                                                         std::uint64_t from) const;

  private:
    struct Place {
        std::uint64_t line = 0; ///< from 0
        std::uint64_t begin = 0;
    };

    /// Of one line.
    struct Places {
        std::vector<Place> list;
        bool too_many = false; ///< the list is empty, and would be no help
    };

    struct Hash {
        using is_transparent = void;

        std::size_t operator()(std::string_view text) const noexcept
        {
            return std::hash<std::string_view>()(text);
        }
    };

    using Wanted = std::unordered_map<std::string, Places, Hash, std::equal_to<>>;

    /// For each line of a text where it is, and which of them is in the fewest places.
    struct Lists {
        std::vector<const std::vector<Place>*> of_line; ///< nullptr: too many
        std::size_t rarest = 0;
    };

    void want(Wanted& wanted, std::string line);
    void add_part(std::string_view part);
    [[nodiscard]] bool end_line(bool last);
    void look_at(std::string_view line, bool whole, bool last);
    void add_place(Wanted& wanted, std::string_view line, const Place& place);
    void forget(Places& places);
    void forget_frequent();
    void mark_line();
    [[nodiscard]] Lists lists_of(std::string_view text) const;
    [[nodiscard]] std::uint64_t begin_before(std::uint64_t line) const;
    [[nodiscard]] std::uint64_t begin_behind(std::uint64_t line) const;

    /// The line that is being read.
    struct Present {
        std::string kept; ///< how it begins
        std::uint64_t bytes = 0;
        std::uint64_t signs = 0; ///< of a long one: so many of it do not fold away, or more
    };

    Present present_;
    std::size_t longest_wanted_ = 0; ///< line, folded
    Wanted folded_;                  ///< lines of texts, as fold_text() makes them
    Wanted trimmed_;                 ///< single lines
    bool known_ = false;             ///< scan() came to the end
    std::uint64_t size_;             ///< of the original
    std::uint64_t line_ = 0;         ///< the present one, from 0
    std::uint64_t begin_ = 0;        ///< its beginning
    std::size_t places_ = 0;         ///< in all lists
    /// A line that is in more places, such as an empty one, says little of where a text is.
    std::size_t most_of_one_ = 10'000;
    std::uint64_t distance_ = 16;      ///< lines from one of marks_ to the next
    std::vector<std::uint64_t> marks_; ///< beginnings of lines
    std::string buffer_;               ///< of the present line, folded
};

} // namespace berth::guest

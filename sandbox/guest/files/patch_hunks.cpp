#include "sandbox/guest/files/patch_hunks.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/document_facts.hpp"
#include "sandbox/guest/files/edit_errors.hpp"
#include "sandbox/guest/files/line_places.hpp"
#include "sandbox/guest/files/line_walk.hpp"
#include "sandbox/guest/files/text_search.hpp"
#include "sandbox/guest/files/tolerant_match.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace berth::guest {
namespace {

/// Places looked at for the one that is exactly so.
constexpr std::size_t most_places = 1000;
constexpr const char* above_hint =
    "above the hunk or the @@ line before: hunks come in the order of the file";

class Hunks {
  public:
    Hunks(const PatchEntry& entry, Document& document)
        : entry_(entry), document_(document), original_(document.original()),
          places_(original_.size()), facts_(facts_of(document))
    {
    }

    unsigned run()
    {
        look_for_all();
        for (const auto& hunk : entry_.hunks) {
            name_ = "hunk " + std::to_string(&hunk - entry_.hunks.data() + 1) + " (line " +
                    std::to_string(hunk.line) + " of patch)";
            for (const auto& header : hunk.headers) {
                go_below(header);
            }
            PatchHunk adapted = hunk;
            if (facts_.all_crlf) {
                adapted.old_text = with_crlf(hunk.old_text);
                adapted.new_text = with_crlf(hunk.new_text);
            }
            if (hunk.old_text.empty()) {
                add(adapted);
            } else {
                change(adapted);
            }
        }
        return through_;
    }

  private:
    /// One search is one pass: to know the places of all lines before pays for several.
    void look_for_all()
    {
        if (entry_.hunks.size() > 1) {
            for (const auto& hunk : entry_.hunks) {
                std::ranges::for_each(hunk.headers, [&](const std::string& header) {
                    places_.want_line(trimmed(header));
                });
                places_.want_text(hunk.old_text);
            }
            places_.scan(original_);
        }
    }

    /// Of position_, in the original: from there on the document is as it was.
    [[nodiscard]] std::uint64_t original_position() const
    {
        return original_.size() - (document_.size() - position_);
    }

    /// Sets position_ behind the first line from there on that is the header, or has it.
    void go_below(const std::string& header)
    {
        const auto wanted = trimmed(header);
        const auto is_same = [&](std::string_view line) { return trimmed(line) == wanted; };
        const auto is_like = [&](std::string_view line) {
            return line.find(wanted) != std::string_view::npos;
        };
        const std::uint64_t from = original_position();
        const auto near = places_.near_line(wanted, from);
        auto behind = near ? behind_line(*near, is_same) : std::nullopt;
        behind = behind ? behind : behind_line(from, is_like);
        if (!behind) {
            refuse_header(header, is_like);
        }
        position_ = document_.size() - (original_.size() - *behind);
    }

    /// Behind the first line of the original, from `begin` on, that is so.
    template <class Is>
    std::optional<std::uint64_t> behind_line(std::uint64_t begin, Is is)
    {
        std::optional<std::uint64_t> behind;
        const auto look = [&](WalkedLine line) {
            line.begin += begin;
            if (!behind && is(without_mark(line))) {
                behind = begin + line.end;
            }
        };
        LineSplitter lines;
        constexpr std::uint64_t step = 4096; // it is often near
        for (std::uint64_t at = begin; at < original_.size() && !behind;) {
            const auto piece = original_.at(at, step);
            lines.feed(piece, look);
            at += piece.size();
        }
        if (!behind) {
            lines.finish(look);
        }
        return behind;
    }

    /// `is`: whether a line has the header.
    template <class Is>
    [[noreturn]] void refuse_header(const std::string& header, Is is) const
    {
        std::optional<std::uint64_t> above;
        walk_lines(document_, [&](const WalkedLine& line) {
            if (line.begin < position_ && is(without_mark(line))) {
                above = line.begin;
            }
        });
        const std::string what = "the line behind @@ of " + name_;
        if (above) {
            refuse_elsewhere(what, *above, above_hint);
        }
        throw_not_found(document_, header, what);
    }

    /// The original's last lines, as many as the text has; nothing where some are above position_.
    std::vector<TextRange> last_lines(std::string_view text)
    {
        const std::uint64_t from = original_position();
        std::vector<std::uint64_t> begins(static_cast<std::size_t>(std::ranges::count(text, '\n')));
        std::size_t count = 0;
        const auto look = [&](const WalkedLine& line) {
            begins[count++ % begins.size()] = from + line.begin;
        };
        LineSplitter lines;
        for (std::uint64_t at = from; at < original_.size();) {
            const auto piece = original_.at(at, original_.size() - at);
            lines.feed(piece, look);
            at += piece.size();
        }
        lines.finish(look);
        if (count < begins.size()) {
            return {};
        }
        return {{.begin = begins[count % begins.size()], .end = original_.size()}};
    }

    static bool is_exact(const TolerantMatch& place) noexcept
    {
        return is_exact_in_lines(place.through);
    }

    /// Those that are exactly so, if there are any; of these, behind headers, the first alone.
    std::vector<TolerantMatch> places_of(const PatchHunk& hunk)
    {
        if (hunk.old_text.size() > longest_tolerant) {
            return {}; // before its lines cost anything
        }
        auto places =
            find_tolerant(original_,
                          {.text = hunk.old_text,
                           .most = most_places,
                           .whole_lines = true,
                           .to_exact = !hunk.headers.empty()},
                          hunk.at_end ? last_lines(hunk.old_text)
                                      : places_.ranges_of(hunk.old_text, original_position()));
        for (auto& place : places) {
            place.begin = document_.size() - (original_.size() - place.begin);
        }
        if (std::ranges::any_of(places, is_exact)) {
            std::erase_if(places, [&](const TolerantMatch& place) { return !is_exact(place); });
        }
        return places;
    }

    /// The mark is no part of the first line, for who sees the file.
    static std::string_view without_mark(const WalkedLine& line)
    {
        const bool marked = line.begin == 0 && line.text.starts_with(byte_order_mark);
        return line.text.substr(marked ? byte_order_mark.size() : 0);
    }

    /// Anywhere, for a hint: where that cannot be told there is none.
    [[nodiscard]] std::optional<std::uint64_t> place_anywhere(const std::string& text) const
    {
        try {
            const auto found = find_tolerant(document_, {.text = text, .whole_lines = true});
            return found.empty() ? std::nullopt : std::optional(found.front().begin);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled) {
                throw;
            }
            return std::nullopt;
        }
    }

    /// What is there, but not where it may be: to look for what is nearest would find just this.
    [[noreturn]] void refuse_elsewhere(const std::string& what, std::uint64_t begin,
                                       const char* hint) const
    {
        const std::string line = std::to_string(lines_of(document_, {begin}, 1).front());
        throw Error(
            Error(ErrorCode::text_not_found,
                  what + " does not occur in " + visible(document_.path()) + " where it should",
                  "it is on line " + line + ", " + hint)
                .with_detail("lines", line));
    }

    [[noreturn]] void refuse_missing(const PatchHunk& hunk)
    {
        if (hunk.old_text.size() > longest_tolerant) {
            throw Error(ErrorCode::too_large,
                        name_ + " has more than " + std::to_string(longest_tolerant) +
                            " bytes of old lines",
                        "make several hunks of it, or replace the file with write_file");
        }
        const std::string what = "what is to be changed by " + name_;
        if (const auto begin = place_anywhere(hunk.old_text)) {
            refuse_elsewhere(what, *begin,
                             *begin < position_ ? above_hint : "which is not the file's end");
        }
        throw_not_found(document_, hunk.old_text, what);
    }

    static std::size_t newline_at_end(std::string_view text) noexcept
    {
        return text.ends_with("\r\n") ? 2 : text.ends_with('\n') ? 1 : 0;
    }

    /// Of whole lines, or the end of them.
    static bool ends_with_empty_line(std::string_view text) noexcept
    {
        const auto newline = newline_at_end(text);
        return newline > 0 && (text.size() == newline || text[text.size() - newline - 1] == '\n');
    }

    /// Bytes of the newline in front of a line that can go with it; 0 for the first, and where the
    /// line before it is empty.
    [[nodiscard]] std::uint64_t newline_before(std::uint64_t begin) const
    {
        constexpr std::size_t two_newlines = 4;
        std::string before;
        std::uint64_t seen = 0;
        DocumentReader reader(document_);
        for (auto piece = reader.next(); !piece.empty() && seen < begin; piece = reader.next()) {
            before += piece.substr(0, static_cast<std::size_t>(begin - seen));
            seen += piece.size();
            before.erase(0, before.size() - std::min(before.size(), two_newlines));
        }
        return ends_with_empty_line(before) ? 0 : newline_at_end(before);
    }

    /// places_of(), the first line counted in that a byte order mark hides: where that is the
    /// place, the hunk gets the mark.
    std::vector<TolerantMatch> places_behind_mark(PatchHunk& hunk)
    {
        auto places = places_of(hunk);
        PatchHunk marked = hunk;
        marked.old_text.insert(0, byte_order_mark);
        marked.new_text.insert(0, byte_order_mark);
        auto first = places_of(marked);
        std::erase_if(first, [](const TolerantMatch& place) { return place.begin != 0; });
        if (first.empty() ||
            (!places.empty() && is_exact(places.front()) && !is_exact(first.front()))) {
            return places;
        }
        if (places.empty() || (!is_exact(places.front()) && is_exact(first.front()))) {
            hunk = std::move(marked);
            return first;
        }
        first.insert(first.end(), places.begin(), places.end());
        return first; // which of them is meant cannot be told
    }

    void change(PatchHunk hunk)
    {
        const auto places =
            facts_.bom && position_ == 0 ? places_behind_mark(hunk) : places_of(hunk);
        if (places.empty()) {
            refuse_missing(hunk);
        }
        if (places.size() > 1 && hunk.headers.empty()) {
            std::vector<std::uint64_t> begins;
            std::ranges::transform(places, std::back_inserter(begins), &TolerantMatch::begin);
            throw_ambiguous(document_, begins, places.front().actual.size(), name_,
                            "take in more lines around it, or put a line above it behind @@");
        }
        const TolerantMatch& place = places.front();
        std::string text = tolerant_replacement(hunk.old_text, hunk.new_text, place);
        std::uint64_t begin = place.begin;
        if (place.open_end) { // the file shall end as before
            if (text.empty()) {
                begin -= newline_before(begin);
            } else if (!ends_with_empty_line(text)) { // which without a newline would be none
                text.resize(text.size() - newline_at_end(text));
            }
        }
        document_.replace({begin}, place.begin + place.actual.size() - begin, text);
        position_ = begin + text.size();
        through_ |= place.through;
    }

    /// Below its header, or at the file's end.
    /// How a line ends that is not in the patch: of a file whose lines end in both ways the one in
    /// front tells. The document is as it was from the line on that begins at `begin`.
    [[nodiscard]] bool has_crlf_before(std::uint64_t begin)
    {
        const std::uint64_t at = original_.size() - (document_.size() - begin);
        return at >= 2 && original_.at(at - 1, 1).starts_with('\n') &&
               original_.at(at - 2, 1).starts_with('\r');
    }

    void add(const PatchHunk& hunk)
    {
        const bool at_header = !hunk.headers.empty() && !hunk.at_end;
        const std::uint64_t begin = at_header ? position_ : document_.size();
        std::string text = has_crlf_before(begin) ? with_crlf(hunk.new_text) : hunk.new_text;
        const std::uint64_t empty = facts_.bom ? byte_order_mark.size() : 0;
        if (begin == document_.size() && begin > empty && !ends_with_newline(document_)) {
            // The last line gets its newline, and the file ends as before.
            const std::string newline = facts_.all_crlf ? "\r\n" : "\n";
            const bool stays = ends_with_empty_line(text); // without a newline it would be none
            text = newline + text.substr(0, text.size() - (stays ? 0 : newline.size()));
        }
        document_.replace({begin}, 0, text);
        position_ = begin + text.size();
    }

    const PatchEntry& entry_;
    Document& document_;
    OriginalReader original_;
    LinePlaces places_;
    DocumentFacts facts_;
    /// A line's beginning: what comes is not before it, and from there on nothing was changed.
    std::uint64_t position_ = 0;
    unsigned through_ = 0;
    std::string name_; ///< of the present hunk, for messages
};

} // namespace

unsigned apply_hunks(const PatchEntry& entry, Document& document)
{
    return Hunks(entry, document).run();
}

} // namespace berth::guest

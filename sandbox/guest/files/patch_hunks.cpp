#include "sandbox/guest/files/patch_hunks.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/files/document_facts.hpp"
#include "sandbox/guest/files/edit_errors.hpp"
#include "sandbox/guest/files/line_walk.hpp"
#include "sandbox/guest/files/tolerant_match.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

namespace berth::guest {
namespace {

/// Places looked at for the one that is exactly so.
constexpr std::size_t most_places = 1000;

class Hunks {
  public:
    Hunks(const PatchEntry& entry, Document& document)
        : entry_(entry), document_(document), facts_(facts_of(document))
    {
    }

    unsigned run()
    {
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
    /// Sets position_ behind the first line from there on that is the header, or has it.
    void go_below(const std::string& header)
    {
        const auto wanted = trimmed(header);
        std::optional<std::uint64_t> behind_same;
        std::optional<std::uint64_t> behind_like;
        walk_lines(document_, [&](const WalkedLine& line) {
            if (line.begin >= position_ && !behind_same) {
                if (trimmed(line.text) == wanted) {
                    behind_same = line.end;
                } else if (!behind_like && line.text.find(wanted) != std::string_view::npos) {
                    behind_like = line.end;
                }
            }
        });
        if (!behind_same && !behind_like) {
            throw_not_found(document_, header, "the line behind @@ of " + name_);
        }
        position_ = behind_same.value_or(behind_like.value_or(0));
    }

    /// Where so many lines as the text has begin at the file's end, but not before position_.
    std::uint64_t last_lines(const std::string& text)
    {
        std::vector<std::uint64_t> begins(static_cast<std::size_t>(std::ranges::count(text, '\n')));
        std::size_t count = 0;
        walk_lines(document_,
                   [&](const WalkedLine& line) { begins[count++ % begins.size()] = line.begin; });
        return count < begins.size() ? position_
                                     : std::max(position_, begins[count % begins.size()]);
    }

    /// Those that are exactly so, if there are any.
    std::vector<TolerantMatch> places_of(const PatchHunk& hunk)
    {
        auto places = find_tolerant(
            document_,
            {.text = hunk.old_text, .most = most_places, .whole_lines = true, .from = position_});
        if (hunk.at_end) {
            std::erase_if(places, [&](const TolerantMatch& place) {
                return place.begin + place.actual.size() != document_.size();
            });
        }
        const auto is_exact = [](const TolerantMatch& place) { return place.through == 0; };
        if (std::ranges::any_of(places, is_exact)) {
            std::erase_if(places, [&](const TolerantMatch& place) { return !is_exact(place); });
        }
        return places;
    }

    /// Anywhere, for a hint: where that cannot be told there is none.
    [[nodiscard]] bool occurs(const std::string& text) const
    {
        try {
            return !find_tolerant(document_, {.text = text, .whole_lines = true}).empty();
        } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled) {
                throw;
            }
            return false;
        }
    }

    [[noreturn]] void refuse_missing(const PatchHunk& hunk)
    {
        if (hunk.old_text.size() > longest_tolerant) {
            throw Error(ErrorCode::too_large,
                        name_ + " has more than " + std::to_string(longest_tolerant) +
                            " bytes of old lines",
                        "make several hunks of it, or replace the file with write_file");
        }
        std::string hint;
        if (occurs(hunk.old_text)) {
            hint = hunk.at_end ? "they are there, but not at the file's end; "
                               : "they are there, but above the hunk or the @@ line before: hunks "
                                 "come in the order of the file; ";
        }
        throw_not_found(document_, hunk.old_text, "what is to be changed by " + name_, hint);
    }

    void change(PatchHunk hunk)
    {
        auto places = places_of(hunk);
        if (places.empty() && facts_.bom && position_ == 0) {
            // The mark is no part of the first line, for who sees the file.
            hunk.old_text.insert(0, byte_order_mark);
            hunk.new_text.insert(0, byte_order_mark);
            places = places_of(hunk);
        }
        if (places.empty()) {
            refuse_missing(hunk);
        }
        if (places.size() > 1 && hunk.headers.empty()) {
            std::vector<std::uint64_t> begins;
            std::ranges::transform(places, std::back_inserter(begins), &TolerantMatch::begin);
            throw_ambiguous(document_, begins, hunk.old_text.size(), name_,
                            "take in more lines around it, or put a line above it behind @@");
        }
        const TolerantMatch& place = places.front();
        std::string text = tolerant_replacement(hunk.old_text, hunk.new_text, place);
        if (place.open_end && text.ends_with('\n')) {
            text.resize(text.size() - (text.ends_with("\r\n") ? 2 : 1)); // as the file ended before
        }
        document_.replace({place.begin}, place.actual.size(), text);
        position_ = place.begin + text.size();
        through_ |= place.through;
    }

    /// Below its header, or at the file's end.
    void add(const PatchHunk& hunk)
    {
        const bool at_header = !hunk.headers.empty() && !hunk.at_end;
        const std::uint64_t begin = at_header ? position_ : document_.size();
        std::string text = hunk.new_text;
        const std::uint64_t empty = facts_.bom ? byte_order_mark.size() : 0;
        if (begin == document_.size() && begin > empty && !facts_of(document_).final_newline) {
            // The last line gets its newline, and the file ends as before.
            const std::string newline = facts_.all_crlf ? "\r\n" : "\n";
            text = newline + text.substr(0, text.size() - newline.size());
        }
        document_.replace({begin}, 0, text);
        position_ = begin + text.size();
    }

    const PatchEntry& entry_;
    Document& document_;
    DocumentFacts facts_;
    std::uint64_t position_ = 0; ///< a line's beginning: what comes is not before it
    unsigned through_ = 0;
    std::string name_; ///< of the present hunk, for messages
};

} // namespace

unsigned apply_hunks(const PatchEntry& entry, Document& document)
{
    return Hunks(entry, document).run();
}

} // namespace berth::guest

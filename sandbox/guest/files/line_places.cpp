#include "sandbox/guest/files/line_places.hpp"

#include "sandbox/guest/files/document_facts.hpp"
#include "sandbox/guest/files/folded_signs.hpp"
#include "sandbox/guest/files/line_diff.hpp"
#include "sandbox/guest/files/line_walk.hpp"
#include "sandbox/guest/files/patch_text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace berth::guest {
namespace {

/// Different lines that are looked for, some 100 bytes each: beyond that nothing is known. As many
/// threads as the guest has may do this at the same time, and it has 256 MiB for everything.
constexpr std::size_t most_lines = 30'000;
/// Of all lines, 16 bytes each, and up to as much again that a list has in reserve.
constexpr std::size_t most_kept_places = 200'000;
constexpr std::size_t most_marks = 62'500;

/// Of a line, in bytes; of what is longer only how many signs it has at least is counted.
constexpr std::size_t longest_kept = 64UL * 1024;

void fold_line(std::string_view line, Behind behind, std::string& folded)
{
    folded.clear();
    (void)fold_text(line, behind, [&](const FoldedSign& sign) { folded += sign.sign; });
}

std::string folded_line(std::string_view line)
{
    std::string folded;
    fold_line(line, Behind::anything, folded);
    return folded;
}

/// As patch_hunks.cpp compares the line behind @@: without the mark, and no more of a long line.
std::string_view compared(std::string_view line, bool first)
{
    line = line.substr(0, line.find('\n')).substr(0, walked_bytes);
    line.remove_prefix(first && line.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
    return trimmed(line);
}

} // namespace

void LinePlaces::want_text(std::string_view text)
{
    for (const auto line : split_lines(text)) {
        want(folded_, folded_line(line));
    }
}

void LinePlaces::want_line(std::string_view trimmed_line)
{
    want(trimmed_, std::string(trimmed_line));
}

void LinePlaces::want(Wanted& wanted, std::string line)
{
    longest_wanted_ = std::max(longest_wanted_, line.size());
    if (folded_.size() + trimmed_.size() < most_lines) {
        wanted.try_emplace(std::move(line));
    }
}

void LinePlaces::scan(OriginalReader& original)
{
    if (folded_.size() + trimmed_.size() >= most_lines) {
        return;
    }
    for (std::uint64_t at = 0; at < size_;) {
        auto piece = original.at(at, size_ - at);
        at += piece.size();
        while (!piece.empty()) {
            const auto newline = piece.find('\n');
            const auto part =
                piece.substr(0, newline == std::string_view::npos ? newline : newline + 1);
            piece.remove_prefix(part.size());
            add_part(part);
            if (newline != std::string_view::npos && !end_line(/*last=*/false)) {
                return;
            }
        }
    }
    known_ = present_.bytes == 0 || end_line(/*last=*/true);
}

void LinePlaces::add_part(std::string_view part)
{
    present_.kept += part.substr(0, longest_kept - present_.kept.size());
    present_.bytes += part.size();
    if (present_.bytes > longest_kept) {
        present_.signs += static_cast<std::uint64_t>(std::ranges::count_if(
            part, [](char c) { return c > ' ' && static_cast<unsigned char>(c) < 0x80; }));
    }
}

/// False where it cannot be told what line that was.
bool LinePlaces::end_line(bool last)
{
    // Blanks without end are one sign, and the line may be any.
    const bool whole = present_.bytes == present_.kept.size();
    if (!whole && present_.signs <= longest_wanted_) {
        return false;
    }
    look_at(present_.kept, whole, last);
    begin_ += present_.bytes;
    ++line_;
    present_.kept.clear();
    present_.bytes = 0;
    present_.signs = 0;
    return true;
}

/// `whole`: else it is how a line begins that is none of a text's. `last`: it has no newline.
void LinePlaces::look_at(std::string_view line, bool whole, bool last)
{
    mark_line();
    const Place place{.line = line_, .begin = begin_};
    if (whole && !folded_.empty()) {
        fold_line(line, last ? Behind::nothing : Behind::anything, buffer_);
        buffer_ += last ? "\n" : "";
        add_place(folded_, buffer_, place);
    }
    if (!trimmed_.empty()) {
        add_place(trimmed_, compared(line, line_ == 0), place);
    }
}

void LinePlaces::add_place(Wanted& wanted, std::string_view line, const Place& place)
{
    const auto found = wanted.find(line);
    if (found == wanted.end() || found->second.too_many) {
        return;
    }
    Places& places = found->second;
    if (places.list.size() >= most_of_one_) {
        forget(places);
        return;
    }
    places.list.push_back(place);
    if (++places_ > most_kept_places) {
        forget_frequent();
    }
}

void LinePlaces::forget(Places& places)
{
    places_ -= std::exchange(places.list, {}).size();
    places.too_many = true;
}

/// Lines that are in many places go first: they say least of where a text is.
void LinePlaces::forget_frequent()
{
    while (places_ > most_kept_places / 2) {
        most_of_one_ /= 2;
        for (Wanted* const wanted : {&folded_, &trimmed_}) {
            for (auto& [line, places] : *wanted) {
                if (places.list.size() > most_of_one_) {
                    forget(places);
                }
            }
        }
    }
}

void LinePlaces::mark_line()
{
    if (line_ % distance_ != 0) {
        return;
    }
    if (marks_.size() == most_marks) {
        for (std::size_t i = 0; 2 * i < marks_.size(); ++i) {
            marks_[i] = marks_[2 * i];
        }
        marks_.resize((marks_.size() + 1) / 2);
        distance_ *= 2;
        if (line_ % distance_ != 0) {
            return;
        }
    }
    marks_.push_back(begin_);
}

std::uint64_t LinePlaces::begin_before(std::uint64_t line) const
{
    const auto mark = static_cast<std::size_t>(line / distance_);
    return mark < marks_.size() ? marks_[mark] : size_;
}

std::uint64_t LinePlaces::begin_behind(std::uint64_t line) const
{
    return begin_before(line + distance_ - 1);
}

LinePlaces::Lists LinePlaces::lists_of(std::string_view text) const
{
    Lists lists;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (const auto line : split_lines(text)) {
        const auto found = folded_.find(folded_line(line));
        const bool counts = found != folded_.end() && !found->second.too_many;
        if (counts && found->second.list.size() < fewest) {
            fewest = found->second.list.size();
            lists.rarest = lists.of_line.size();
        }
        lists.of_line.push_back(counts ? &found->second.list : nullptr);
    }
    return lists;
}

std::vector<TextRange> LinePlaces::ranges_of(std::string_view text, std::uint64_t from) const
{
    const Lists lists = known_ ? lists_of(text) : Lists();
    const std::size_t above = lists.rarest;
    const auto* rarest = lists.of_line.empty() ? nullptr : lists.of_line[above];
    if (rarest == nullptr) {
        return {{.begin = from, .end = size_}};
    }
    std::vector<TextRange> ranges;
    for (auto place = std::ranges::lower_bound(*rarest, from, {}, &Place::begin);
         place != rarest->end(); ++place) {
        const std::uint64_t first = place->line - std::min<std::uint64_t>(above, place->line);
        std::uint64_t line = first;
        const bool all = place->line >= above &&
                         std::ranges::all_of(lists.of_line, [&](const std::vector<Place>* list) {
                             const std::uint64_t present = line++;
                             return list == nullptr ||
                                    std::ranges::binary_search(*list, present, {}, &Place::line);
                         });
        if (!all) {
            continue;
        }
        const TextRange range{.begin = std::max(from, begin_before(first)),
                              .end = begin_behind(first + lists.of_line.size())};
        if (!ranges.empty() && range.begin <= ranges.back().end) {
            ranges.back().end = range.end;
        } else {
            ranges.push_back(range);
        }
    }
    return ranges;
}

std::optional<std::uint64_t> LinePlaces::near_line(std::string_view trimmed_line,
                                                   std::uint64_t from) const
{
    const auto found = trimmed_.find(trimmed_line);
    if (!known_ || found == trimmed_.end() || found->second.too_many) {
        return from;
    }
    const auto& list = found->second.list;
    const auto place = std::ranges::lower_bound(list, from, {}, &Place::begin);
    return place == list.end() ? std::nullopt : std::optional(place->begin);
}

} // namespace berth::guest

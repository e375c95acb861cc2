#include "sandbox/guest/files/edit_regions.hpp"

#include <algorithm>
#include <string_view>

namespace berth::guest {

std::optional<Change> ChangeReader::next()
{
    const auto& pieces = document_.pieces();
    while (!ended_) {
        Change change{.begin = position_, .end = document_.original_size(), .text = {}};
        for (; index_ < pieces.size() && pieces[index_].added; ++index_) {
            const auto text = document_.added(pieces[index_]);
            change.too_large |= text.size() > largest_ - change.text.size();
            if (!change.too_large) {
                change.text += text;
            }
        }
        if (index_ < pieces.size()) {
            change.end = pieces[index_].begin;
            position_ = pieces[index_].begin + pieces[index_].size;
            ++index_;
        } else {
            ended_ = true;
        }
        if (change.begin != change.end || !change.text.empty() || change.too_large) {
            return change;
        }
    }
    return std::nullopt;
}

bool LineReader::is_line_start(std::uint64_t offset)
{
    return offset == 0 || around_.at(offset - 1, 1) == "\n";
}

std::optional<std::uint64_t> LineReader::line_start(std::uint64_t offset)
{
    std::uint64_t end = offset;
    while (end > 0) {
        const std::uint64_t begin = end - std::min<std::uint64_t>(end, 4096);
        const auto newline = text(begin, end).rfind('\n');
        if (newline != std::string::npos) {
            return begin + newline + 1;
        }
        end = begin;
        if (offset - end > longest_) {
            return std::nullopt;
        }
    }
    return 0;
}

std::optional<std::uint64_t> LineReader::line_end(std::uint64_t offset)
{
    for (std::uint64_t at = offset; at < size();) {
        const auto part = around_.at(at, 4096);
        const auto newline = part.find('\n');
        if (newline != std::string_view::npos) {
            return at + newline + 1;
        }
        at += part.size();
        if (at - offset > longest_) {
            return std::nullopt;
        }
    }
    return size();
}

std::string LineReader::text(std::uint64_t begin, std::uint64_t end)
{
    std::string result;
    while (begin < end) {
        const auto part = around_.at(begin, end - begin);
        result += part;
        begin += part.size();
    }
    return result;
}

std::uint64_t LineReader::lines_before(std::uint64_t offset)
{
    while (counted_to_ < offset) {
        const auto part = forward_.at(counted_to_, offset - counted_to_);
        counted_ += static_cast<std::uint64_t>(std::count(part.begin(), part.end(), '\n'));
        counted_to_ += part.size();
    }
    return counted_;
}

std::optional<Region> RegionReader::next()
{
    if (!change_ || gave_up_) {
        return std::nullopt;
    }
    const auto start = lines_.line_start(change_->begin);
    if (!start) {
        gave_up_ = true;
        return std::nullopt;
    }
    Region region{.begin = *start, .end = *start, .text = {}};
    do {
        if (change_->too_large) {
            gave_up_ = true;
            return std::nullopt;
        }
        region.text += lines_.text(region.end, change_->begin) + change_->text;
        region.end = change_->end;
        change_ = changes_.next();
        if (region.text.size() > largest_ || region.end - region.begin > largest_ ||
            !complete_line(region)) {
            gave_up_ = true;
            return std::nullopt;
        }
    } while (joined_);
    return region;
}

/// Takes the rest of the last line, unless the next change is on it: then joined_ is true. False
/// when that line is too long.
bool RegionReader::complete_line(Region& region)
{
    joined_ = false;
    if (lines_.is_line_start(region.end) && (region.text.empty() || region.text.ends_with('\n'))) {
        return true;
    }
    const auto end = lines_.line_end(region.end);
    if (!end) {
        return false;
    }
    // A change at the end of a line without newline continues that line.
    joined_ = change_ &&
              (change_->begin < *end || (change_->begin == *end && !lines_.is_line_start(*end)));
    if (!joined_) {
        region.text += lines_.text(region.end, *end);
        region.end = *end;
    }
    return true;
}

} // namespace berth::guest

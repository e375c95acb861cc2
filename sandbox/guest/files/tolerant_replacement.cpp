#include "sandbox/guest/files/line_diff.hpp"
#include "sandbox/guest/files/tolerant_match.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

namespace berth::guest {
namespace {

using Lines = std::vector<std::string_view>;

std::string_view end_of(std::string_view line)
{
    return line.ends_with("\r\n") ? line.substr(line.size() - 2)
           : line.ends_with('\n') ? line.substr(line.size() - 1)
                                  : std::string_view();
}

std::string_view without_end(std::string_view line)
{
    line.remove_suffix(end_of(line).size());
    return line;
}

/// How `line` ends, if it does: as the line there.
std::string_view end_like(std::string_view line, std::string_view end_there)
{
    return end_of(line).empty() || end_there.empty() ? end_of(line) : end_there;
}

Lines without_ends(const Lines& lines)
{
    Lines result;
    std::ranges::transform(lines, std::back_inserter(result), without_end);
    return result;
}

std::string_view indentation(std::string_view line)
{
    return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

/// How the document indents where the caller's text does: "    " there may be "\t" here.
class Indentations {
  public:
    Indentations(const Lines& wanted, const Lines& actual)
    {
        for (std::size_t i = 0; i < std::min(wanted.size(), actual.size()); ++i) {
            const auto from = indentation(without_end(wanted[i]));
            if (!from.empty() && from.size() < without_end(wanted[i]).size()) {
                known_.emplace(from, indentation(actual[i]));
            }
        }
    }

    /// What is deeper than any known one goes on with the known ones.
    [[nodiscard]] std::string translated(std::string_view from) const
    {
        std::string result;
        while (!from.empty()) {
            const auto next = longest_beginning(from);
            if (!next) {
                return result + std::string(from);
            }
            result += next->second;
            from.remove_prefix(next->first.size());
        }
        return result;
    }

  private:
    [[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>>
    longest_beginning(std::string_view from) const
    {
        std::optional<std::pair<std::string_view, std::string_view>> best;
        for (const auto& known : known_) {
            if (from.starts_with(known.first) &&
                (!best || known.first.size() > best->first.size())) {
                best = known;
            }
        }
        return best;
    }

    std::map<std::string_view, std::string_view> known_;
};

} // namespace

std::string tolerant_replacement(std::string_view old_text, std::string_view new_text,
                                 const TolerantMatch& match, std::string_view line_end)
{
    const Lines wanted = split_lines(old_text);
    const Lines actual = split_lines(match.actual);
    const Lines given = split_lines(new_text);
    const Indentations indentations(wanted, actual);
    const auto ended =
        std::ranges::find_if(actual, [](std::string_view line) { return !end_of(line).empty(); });
    const bool ends = (match.through & static_cast<unsigned>(Tolerance::line_ends)) != 0;
    const auto usual = ends && ended != actual.end() ? end_of(*ended) : std::string_view();
    // Of a line of the document, the rest of the last one included.
    const auto end_there = [&](std::size_t line) {
        const auto end = line < actual.size() ? end_of(actual[line]) : std::string_view();
        const auto whole = end.empty() && line + 1 == actual.size() ? line_end : end;
        return whole.empty() ? usual : whole;
    };

    std::string result;
    std::size_t old_line = 0;
    std::size_t new_line = 0;
    const auto keep_until = [&](std::size_t line) {
        for (; new_line < line; ++new_line, ++old_line) {
            result += without_end(actual[old_line]);
            result += end_like(given[new_line], end_there(old_line));
        }
    };
    for (const LineChange& change : diff_lines(without_ends(wanted), without_ends(given))) {
        keep_until(change.new_line);
        // Where line ends are mixed: of the line that it takes the place of, else of the one above.
        const auto end_beside = [&](std::size_t i) {
            const std::size_t line = change.removed > 0
                                         ? change.old_line + std::min(i, change.removed - 1)
                                         : std::max<std::size_t>(change.old_line, 1) - 1;
            return ends                        ? end_there(line)
                   : line + 1 == actual.size() ? line_end
                                               : std::string_view();
        };
        for (const std::size_t end = change.new_line + change.added; new_line < end; ++new_line) {
            const auto line = without_end(given[new_line]);
            const auto from = indentation(line);
            result += indentations.translated(from);
            result += line.substr(from.size());
            result += end_like(given[new_line], end_beside(new_line - change.new_line));
        }
        old_line = change.old_line + change.removed;
    }
    keep_until(given.size());
    return result;
}

} // namespace berth::guest

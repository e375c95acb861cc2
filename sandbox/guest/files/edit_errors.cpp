#include "sandbox/guest/files/edit_errors.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/files/nearest_lines.hpp"
#include "sandbox/guest/files/text_search.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>

namespace berth::guest {
namespace {

constexpr std::size_t listed_matches = 20;

} // namespace

void require_editable_size(std::uint64_t size, std::uint64_t max_size, const std::string& path)
{
    if (size > max_size) {
        throw Error(ErrorCode::too_large, visible(path) + " has " + std::to_string(size) + " bytes",
                    "at most " + std::to_string(max_size) +
                        " bytes can be edited; use sed in bash_exec");
    }
}

void throw_not_found(const Document& document, std::string_view text, const std::string& what,
                     std::string hint)
{
    const std::size_t before = hint.size();
    std::string lines;
    for (const auto& near : nearest_lines(document, text)) {
        hint += (hint.size() == before ? "nearest: " : "; ") +
                ("line " + std::to_string(near.line)) + " (" + std::to_string(near.percent) +
                " % alike), where line " + std::to_string(near.first_difference) + " " +
                near.difference + (near.actual.empty() ? "" : ": `" + visible(near.actual) + "`");
        lines += (lines.empty() ? "" : ",") + std::to_string(near.line);
    }
    if (hint.empty()) {
        hint = "nothing in the file is like it; read the file and copy the text from there";
    }
    throw Error(Error(ErrorCode::text_not_found,
                      what + " does not occur in " + visible(document.path()), hint)
                    .with_detail("lines", lines));
}

void throw_ambiguous(const Document& document, const std::vector<std::uint64_t>& matches,
                     std::size_t size, const std::string& what, const std::string& advice)
{
    // Not all of those are counted that overlap each other.
    const bool overlap = matches[1] - matches[0] < size;
    const auto all = lines_of(document, matches, listed_matches);
    std::string lines; // one for each match
    std::string shown; // each once
    std::size_t distinct = 0;
    for (auto line = all.begin(); line != all.end(); ++distinct) {
        const auto next = std::find_if(line, all.end(), [&](auto other) { return other != *line; });
        const std::string number = std::to_string(*line);
        shown += (shown.empty() ? "" : ", ") + number;
        shown += next - line > 1 ? " (" + std::to_string(next - line) + " times)" : "";
        for (; line != next; ++line) {
            lines += (lines.empty() ? "" : ", ") + number;
        }
    }
    const std::string more = matches.size() > listed_matches ? " ..." : "";
    const char* on = distinct == 1 ? ", on line " : ", on lines ";
    throw Error(Error(ErrorCode::ambiguous_match,
                      what + " occurs " + (overlap ? "at least " : "") +
                          std::to_string(matches.size()) + " times" +
                          (overlap ? ", overlapping itself," : "") + " in " +
                          visible(document.path()) + on + shown + more,
                      advice)
                    .with_detail("lines", lines)
                    .with_detail("count", std::to_string(matches.size())));
}

} // namespace berth::guest

#include "tests/fuzz/applied_diff.hpp"

#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace berth::fuzz {
namespace {

/// Takes the next line, with its newline, from the front of `text`.
std::string_view take_line(std::string_view& text)
{
    const auto newline = text.find('\n');
    const auto line = text.substr(0, newline == std::string_view::npos ? newline : newline + 1);
    text.remove_prefix(line.size());
    return line;
}

/// START and COUNT of "-START,COUNT" behind `mark` in a hunk's head.
std::pair<std::size_t, std::size_t> range_behind(std::string_view head, char mark)
{
    std::size_t start = 0;
    std::size_t count = 1;
    const char* at = head.data() + std::min(head.find(mark) + 1, head.size());
    const char* end = head.data() + head.size();
    at = std::from_chars(at, end, start).ptr;
    if (at != end && *at == ',') {
        std::from_chars(at + 1, end, count);
    }
    return {start, count};
}

class Applied {
  public:
    explicit Applied(std::string_view old_text) : old_(old_text) {}

    void hunk(std::string_view head, std::string_view& diff)
    {
        const auto [start, count] = range_behind(head, '-');
        const std::size_t first = count == 0 ? start + 1 : start;
        require(first > line_, "hunks are in order");
        while (line_ + 1 < first) {
            require(!old_.empty(), "a hunk is within the old text");
            result_ += take_line(old_);
            ++line_;
        }
        std::size_t removed = 0;
        while (!diff.empty() && std::string_view(" -+").find(diff.front()) != diff.npos) {
            std::string_view line = take_line(diff);
            const char mark = line.front();
            line.remove_prefix(1);
            if (diff.starts_with("\\ No newline")) {
                take_line(diff);
                line.remove_suffix(1);
            }
            if (mark != '+') {
                require(take_line(old_) == line, "lines that stay or go are those of the old text");
                ++line_;
                ++removed;
            }
            if (mark != '-') {
                result_ += line;
            }
        }
        require(removed == count, "a hunk's head counts its lines");
    }

    std::string finish() { return result_.append(old_); }

  private:
    std::string_view old_;
    std::string result_;
    std::size_t line_ = 0; ///< so many of the old text are behind
};

} // namespace

std::string applied_diff(std::string_view diff, std::string_view old_text)
{
    Applied applied(old_text);
    while (!diff.empty()) {
        const auto line = take_line(diff);
        if (line.starts_with("@@ ")) {
            applied.hunk(line, diff);
        }
    }
    return applied.finish();
}

} // namespace berth::fuzz

#include "sandbox/guest/files/similarity.hpp"

#include <algorithm>

namespace berth::guest {
namespace {

struct Sign {
    std::string_view from;
    std::string_view to;
};

constexpr std::array signs = {
    Sign{"\u2018", "\""}, Sign{"\u2019", "\""},  Sign{"\u201C", "\""}, Sign{"\u201D", "\""},
    Sign{"'", "\""},      Sign{"`", "\""},       Sign{"\u2013", "-"},  Sign{"\u2014", "-"},
    Sign{"\u2212", "-"},  Sign{"\u00A0", " "},   Sign{"\u202F", " "},  Sign{"\u200B", ""},
    Sign{"\uFEFF", ""},   Sign{"\u2026", "..."},
};

std::string fold_signs(std::string_view line)
{
    std::string result;
    while (!line.empty()) {
        const auto sign = std::find_if(signs.begin(), signs.end(), [&](const Sign& candidate) {
            return line.starts_with(candidate.from);
        });
        if (sign != signs.end()) {
            result += sign->to;
            line.remove_prefix(sign->from.size());
        } else {
            result += line.front();
            line.remove_prefix(1);
        }
    }
    return result;
}

std::string fold_blanks(std::string_view line)
{
    std::string result;
    bool blank = false;
    for (const char c : line) {
        if (c == ' ' || c == '\t' || c == '\r') {
            blank = true;
            continue;
        }
        if (blank && !result.empty()) {
            result += ' ';
        }
        blank = false;
        result += c;
    }
    return result;
}

bool has(unsigned folds, Fold one)
{
    return (folds & static_cast<unsigned>(one)) != 0;
}

std::size_t slot(char a, char b)
{
    return (static_cast<std::size_t>(static_cast<unsigned char>(a)) * 61 +
            static_cast<unsigned char>(b)) %
           pair_slots;
}

constexpr unsigned worth_a_window = 50; ///< percent

constexpr unsigned all_folds = static_cast<unsigned>(Fold::blanks) |
                               static_cast<unsigned>(Fold::signs) |
                               static_cast<unsigned>(Fold::letters);

/// Pairs of a text that a window over another one has, as it moves on.
class Window {
  public:
    explicit Window(std::string_view text)
    {
        for (std::size_t i = 0; i + 1 < text.size(); ++i) {
            ++open_.at(slot(text[i], text[i + 1]));
        }
    }

    void enter(char a, char b) { common_ += open_.at(slot(a, b))-- > 0 ? 1U : 0U; }

    void leave(char a, char b) { common_ -= ++open_.at(slot(a, b)) > 0 ? 1U : 0U; }

    [[nodiscard]] std::size_t common() const noexcept { return common_; }

  private:
    std::array<std::int32_t, pair_slots> open_{}; ///< pairs of the text that the window lacks
    std::size_t common_ = 0;
};

struct BestWindow {
    std::size_t begin = 0;
    std::size_t common = 0;
};

/// Of `size` characters of `line`, which is longer; the first of the best.
BestWindow best_window(std::string_view text, std::string_view line)
{
    Window window(text);
    BestWindow best;
    for (std::size_t end = 1; end < line.size(); ++end) {
        window.enter(line[end - 1], line[end]);
        if (end >= text.size()) {
            window.leave(line[end - text.size()], line[end - text.size() + 1]);
        }
        if (end + 1 >= text.size() && window.common() > best.common) {
            best = {end + 1 - text.size(), window.common()};
        }
    }
    return best;
}

} // namespace

std::string fold(std::string_view line, unsigned folds)
{
    std::string result(line);
    if (has(folds, Fold::signs)) {
        result = fold_signs(result);
    }
    if (has(folds, Fold::blanks)) {
        result = fold_blanks(result);
    }
    if (has(folds, Fold::letters)) {
        std::transform(result.begin(), result.end(), result.begin(), [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
    }
    return result;
}

Similarity::Similarity(std::string_view line) : line_(fold(line, all_folds))
{
    for (std::size_t i = 0; i + 1 < line_.size(); ++i) {
        ++counts_.at(slot(line_[i], line_[i + 1]));
        ++pairs_;
    }
}

unsigned Similarity::percent(std::string_view other) const
{
    // Lengths alone tell that it cannot reach a half; spares most lines the folding.
    if (other.size() + 3 < line_.size() / 4) {
        return 0;
    }
    const std::string folded = fold(other, all_folds);
    if (folded == line_) {
        return 100;
    }
    if (folded.size() < 2 || pairs_ == 0) {
        return 0;
    }
    const std::size_t pairs = pairs_ + folded.size() - 1;
    return std::min(99U, static_cast<unsigned>(200 * common_pairs(folded) / pairs));
}

std::size_t Similarity::common_pairs(std::string_view folded) const
{
    std::size_t common = 0;
    for (std::size_t i = 0; i + 1 < folded.size(); ++i) {
        const std::size_t at = slot(folded[i], folded[i + 1]);
        if (used_.at(at) < counts_.at(at)) {
            ++used_.at(at);
            ++common;
        }
    }
    for (std::size_t i = 0; i + 1 < folded.size(); ++i) {
        used_.at(slot(folded[i], folded[i + 1])) = 0;
    }
    return common;
}

unsigned Similarity::percent_of_part(std::string_view other) const
{
    const std::string folded = fold(other, all_folds);
    if (folded.size() <= line_.size() || pairs_ == 0) {
        return percent(other);
    }
    // No part has more of them than the whole; spares most lines the window.
    const auto at_most = static_cast<unsigned>(100 * common_pairs(folded) / pairs_);
    if (at_most < worth_a_window) {
        return at_most;
    }
    const auto best = best_window(line_, folded);
    return folded.compare(best.begin, line_.size(), line_) == 0
               ? 100
               : std::min(99U, static_cast<unsigned>(100 * best.common / pairs_));
}

std::string_view part_like(std::string_view text, std::string_view line)
{
    if (text.size() < 2 || line.size() <= text.size()) {
        return line;
    }
    constexpr auto letters = static_cast<unsigned>(Fold::letters);
    const auto best = best_window(fold(text, letters), fold(line, letters));
    return line.substr(best.begin, text.size());
}

} // namespace berth::guest

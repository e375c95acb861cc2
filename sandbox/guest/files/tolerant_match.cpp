#include "sandbox/guest/files/tolerant_match.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/files/folded_signs.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::guest {
namespace {

/// What of the document is held for a match that has begun, besides some of the text's size: more
/// blanks than that in one match are given up on.
constexpr std::size_t held_blanks = 4 * longest_blanks;
/// Bytes compared in all, of places that are alike but for blanks: in text that repeats itself each
/// byte may begin one.
constexpr std::size_t most_kept = 8ULL * 1024 * 1024; ///< bytes of all places that are returned
constexpr std::size_t most_compared = 512ULL * 1024 * 1024;

struct Folded {
    std::string signs;
    std::vector<std::string_view> raw; ///< for each sign what it stands for
};

Folded fold_whole(std::string_view text)
{
    Folded folded;
    (void)fold_text(text, Behind::anything, [&](const FoldedSign& sign) {
        folded.signs += sign.sign;
        folded.raw.push_back(text.substr(sign.begin, sign.end - sign.begin));
    });
    return folded;
}

/// For each prefix of the text how much of its end is the text's beginning (Knuth, Morris, Pratt).
std::vector<std::uint32_t> borders_of(std::string_view text)
{
    std::vector<std::uint32_t> borders(text.size(), 0);
    std::uint32_t length = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
        while (length > 0 && text[i] != text[length]) {
            length = borders[length - 1];
        }
        length += text[i] == text[length] ? 1U : 0U;
        borders[i] = length;
    }
    return borders;
}

/// Columns that blanks at the beginning of a line take.
std::size_t width_of(std::string_view blanks, std::size_t tab)
{
    std::size_t column = 0;
    for (const char blank : blanks) {
        column = blank == '\t' ? (column / tab + 1) * tab : column + 1;
    }
    return column;
}

/// The blanks in front of a line's end.
std::string_view trailing_blanks_of(std::string_view raw)
{
    return raw.substr(0, raw.find_first_of("\r\n"));
}

/// Compares the raw signs of a text and of a place that has the same folded ones.
class Comparison {
  public:
    /// `part_of_blanks`: the text may begin or end within a run of blanks.
    explicit Comparison(bool part_of_blanks) : part_of_blanks_(part_of_blanks) {}

    /// Whether nothing differs but what is tolerated.
    [[nodiscard]] bool run(const Folded& text, const Folded& actual)
    {
        // What was put behind an unfinished last line may have joined what it ends with: "\r".
        if (actual.signs != text.signs) {
            return false;
        }
        for (std::size_t i = 0; i < text.signs.size(); ++i) {
            if (text.raw[i] == actual.raw[i] || is_part(text, actual, i)) {
                continue;
            }
            const bool leading = i == 0 || text.signs[i - 1] == '\n';
            if (!tolerates(text.signs[i], leading, text.raw[i], actual.raw[i])) {
                return false;
            }
        }
        return explained();
    }

    [[nodiscard]] unsigned through() const noexcept { return through_; }

    /// Blanks of the place that are in front of the text, and behind it.
    [[nodiscard]] std::size_t in_front() const noexcept { return in_front_; }

    [[nodiscard]] std::size_t behind() const noexcept { return behind_; }

  private:
    /// As a text that occurs as it is may begin and end anywhere, within a run of blanks too.
    bool is_part(const Folded& text, const Folded& actual, std::size_t i) noexcept
    {
        const auto wanted = text.raw[i];
        const auto run = actual.raw[i];
        if (!part_of_blanks_ || text.signs[i] != ' ') {
            return false;
        }
        if (i == 0 && run.ends_with(wanted)) {
            in_front_ = run.size() - wanted.size();
            return true;
        }
        if (i + 1 == text.signs.size() && run.starts_with(wanted)) {
            behind_ = run.size() - wanted.size();
            return true;
        }
        return false;
    }

    void add(Tolerance tolerance) noexcept { through_ |= static_cast<unsigned>(tolerance); }

    bool tolerates(char sign, bool leading, std::string_view wanted, std::string_view actual)
    {
        if (sign == '\n') {
            if (wanted.ends_with("\r\n") != actual.ends_with("\r\n")) {
                add(Tolerance::line_ends);
            }
            if (trailing_blanks_of(wanted) != trailing_blanks_of(actual)) {
                add(Tolerance::trailing_blanks);
            }
            return true;
        }

        if (sign != ' ') {
            add(Tolerance::quotes);
            return true;
        }
        add(Tolerance::tabs);
        if (leading) {
            indentations_.emplace_back(wanted, actual);
        }
        return wanted.find('\t') != std::string_view::npos ||
               actual.find('\t') != std::string_view::npos;
    }

    /// Whether one width of a tab makes all indentations the same.
    [[nodiscard]] bool explained() const

    {
        static constexpr std::array<std::size_t, 8> widths = {1, 2, 3, 4, 5, 6, 7, 8};
        return std::ranges::any_of(widths, [&](std::size_t tab) {
            return std::ranges::all_of(indentations_, [&](const auto& pair) {
                return width_of(pair.first, tab) == width_of(pair.second, tab);
            });
        });
    }

    bool part_of_blanks_;
    unsigned through_ = 0;
    std::size_t in_front_ = 0;
    std::size_t behind_ = 0;
    std::vector<std::pair<std::string_view, std::string_view>> indentations_;
};

/// Looks for the folded text in a document that arrives in pieces.
class TolerantSearch {
  public:
    explicit TolerantSearch(const TolerantQuery& query)
        : query_(query), text_(fold_whole(query.text)), borders_(borders_of(text_.signs)),
          begins_(text_.signs.size()), starts_line_(text_.signs.size()),
          held_(query.text.size() * 3 + held_blanks)
    {
    }

    /// What comes next is the lines from `begin` on.
    void go_on_at(std::uint64_t begin)
    {
        last_ = '\n';
        length_ = 0;
        held_text_.clear();
        base_ = begin;
        folded_ = 0;
    }

    /// False when enough was found.
    bool feed(std::string_view piece, Behind behind)
    {
        held_text_ += piece;
        const auto rest = std::string_view(held_text_).substr(folded_);
        const std::uint64_t base = base_ + folded_;
        folded_ += fold_text(rest, behind, [&](const FoldedSign& sign) {
            feed_sign(sign.sign, base + sign.begin, base + sign.end);
        });
        if (behind == Behind::nothing && query_.whole_lines && last_ != '\n') {
            open_end_ = true;
            feed_sign('\n', base_ + folded_, base_ + folded_);
        }
        drop_what_is_not_needed();
        return matches_.size() < query_.most && !over_;
    }

    [[nodiscard]] std::vector<TolerantMatch> take() noexcept { return std::move(matches_); }

  private:
    void feed_sign(char sign, std::uint64_t begin, std::uint64_t end)
    {
        starts_line_[count_ % begins_.size()] = last_ == '\n';
        begins_[count_++ % begins_.size()] = begin;
        last_ = sign;
        while (length_ > 0 && sign != text_.signs[length_]) {
            length_ = borders_[length_ - 1];
        }
        length_ += sign == text_.signs[length_] ? 1U : 0U;
        if (length_ == text_.signs.size()) {
            const std::size_t first = count_ % begins_.size();
            if (!query_.whole_lines || starts_line_[first]) {
                look_at(begins_[first], end);
            }
            length_ = borders_[length_ - 1];
        }
    }

    void look_at(std::uint64_t begin, std::uint64_t end)
    {
        std::string actual = held_text_.substr(static_cast<std::size_t>(begin - base_),
                                               static_cast<std::size_t>(end - begin));
        compared_ += actual.size();
        if (compared_ > most_compared) {
            throw Error(
                ErrorCode::too_large,
                "too many places differ from the text in nothing but blanks to compare them all",
                "give more of the text around the place, exactly as it is in the file");
        }
        const std::size_t size = actual.size();
        actual += !open_end_ ? "" : query_.text.ends_with("\r\n") ? "\r\n" : "\n";
        Comparison comparison(!query_.whole_lines);
        if (matches_.size() < query_.most && !over_ && comparison.run(text_, fold_whole(actual))) {
            actual.resize(size - comparison.behind());
            actual.erase(0, comparison.in_front());
            kept_ += actual.size();
            if (kept_ > most_kept) {
                throw Error(ErrorCode::too_large,
                            "the text occurs too often: the places together have more than " +
                                std::to_string(most_kept) + " bytes",
                            "take a shorter text that occurs once, or use sed in bash_exec");
            }
            matches_.push_back({.begin = begin + comparison.in_front(),
                                .actual = std::move(actual),
                                .through = comparison.through(),
                                .open_end = open_end_});
            over_ = query_.to_exact && is_exact_in_lines(comparison.through());
        }
    }

    void drop_what_is_not_needed()
    {
        const std::uint64_t folded_to = base_ + folded_;
        std::uint64_t needed =
            length_ == 0 ? folded_to : begins_[(count_ - length_) % begins_.size()];
        if (folded_to - needed > held_) {
            length_ = 0;
            needed = folded_to;
        }
        held_text_.erase(0, static_cast<std::size_t>(needed - base_));
        folded_ = static_cast<std::size_t>(folded_to - needed);
        base_ = needed;
    }

    TolerantQuery query_;
    Folded text_;
    std::vector<std::uint32_t> borders_;
    std::vector<std::uint64_t> begins_; ///< of the last signs, a ring
    std::vector<bool> starts_line_;     ///< as they do
    std::size_t held_;
    char last_ = '\n';        ///< the last sign, or what a file's beginning is behind
    bool over_ = false;       ///< nothing more is looked for
    bool open_end_ = false;   ///< a newline was put behind the document's last line
    std::uint64_t count_ = 0; ///< signs seen
    std::size_t length_ = 0;  ///< of the text, that the last signs are
    std::string held_text_;   ///< of the document
    std::uint64_t base_ = 0;  ///< its place there
    std::size_t folded_ = 0;  ///< so much of it is folded
    std::size_t compared_ = 0;
    std::size_t kept_ = 0;
    std::vector<TolerantMatch> matches_;
};

} // namespace

std::vector<std::string> names_of(unsigned tolerances)
{
    struct Name {
        Tolerance tolerance;
        const char* name;
    };

    static constexpr std::array names = {
        Name{Tolerance::tabs, "tabs"},
        Name{Tolerance::trailing_blanks, "trailing blanks"},
        Name{Tolerance::line_ends, "line ends"},
        Name{Tolerance::quotes, "quotes"},
    };
    std::vector<std::string> result;
    for (const auto& [tolerance, name] : names) {
        if ((tolerances & static_cast<unsigned>(tolerance)) != 0) {
            result.emplace_back(name);
        }
    }
    return result;
}

std::vector<TolerantMatch> find_tolerant(const Document& document, const TolerantQuery& query)
{
    if (query.text.empty() || query.text.size() > longest_tolerant) {
        return {};
    }
    TolerantSearch search(query);
    DocumentReader reader(document);
    for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
        if (!search.feed(piece, Behind::more)) {
            return search.take();
        }
    }
    (void)search.feed({}, Behind::nothing);
    return search.take();
}

std::vector<TolerantMatch> find_tolerant(OriginalReader& original, const TolerantQuery& query,
                                         const std::vector<TextRange>& ranges)
{
    if (query.text.empty() || query.text.size() > longest_tolerant) {
        return {};
    }
    TolerantSearch search(query);
    for (const auto& range : ranges) {
        search.go_on_at(range.begin);
        for (std::uint64_t at = range.begin; at < range.end;) {
            const auto piece = original.at(at, range.end - at);
            if (!search.feed(piece, Behind::more)) {
                return search.take();
            }
            at += piece.size();
        }
        if (range.end == original.size()) {
            (void)search.feed({}, Behind::nothing);
        }
    }
    return search.take();
}

} // namespace berth::guest

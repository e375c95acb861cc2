#include "sandbox/guest/files/near_places.hpp"

#include "sandbox/guest/files/line_walk.hpp"
#include "sandbox/guest/files/similarity.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace berth::guest {
namespace {

constexpr std::uint64_t walked_for_places = 32ULL * 1024 * 1024;
constexpr std::size_t compared_lines = 200; ///< of the text
constexpr std::size_t most_crowds = 5;
constexpr std::size_t most_alike = 3;
constexpr unsigned least_alike = 50; ///< percent

/// Lines that the document may have between those of the text.
std::size_t slack_of(const WantedLines& wanted)
{
    return wanted.lines.size() / 4 + 4;
}

/// Lines of the document in which most of the text's lines are.
struct Crowd {
    std::uint64_t last = 0; ///< line of the document
    int score = 0;
};

/// Looks at the last lines of a walk, some more than the text has: which of the text's are there,
/// in whatever order.
class CrowdFinder {
  public:
    explicit CrowdFinder(const WantedLines& wanted)
        : ring_(wanted.lines.size() + slack_of(wanted), none)
    {
        for (const auto& line : wanted.lines) {
            const auto bare = bare_line(line);
            if (bare.empty()) {
                continue;
            }
            const auto [found, added] = ids_.emplace(bare, known_.size());
            if (added) {
                known_.push_back({.weight = weight_of_line(bare)});
            }
            ++known_[found->second].wanted;
        }
    }

    void take(const WalkedLine& line)
    {
        auto& slot = ring_[static_cast<std::size_t>(line.number % ring_.size())];
        if (slot != none) {
            Known& known = known_[slot];
            score_ -= --known.seen < known.wanted ? known.weight : 0;
        }
        const auto found = ids_.find(bare_line(line.text));
        slot = found == ids_.end() ? none : found->second;
        if (slot == none) {
            return; // no better than it was
        }
        Known& known = known_[slot];
        score_ += known.seen++ < known.wanted ? known.weight : 0;
        if (line.number - peak_.last >= ring_.size()) {
            keep_peak();
        }
        if (score_ > peak_.score) {
            peak_ = {.last = line.number, .score = score_};
        }
    }

    /// The best, the first of equals first.
    [[nodiscard]] std::vector<Crowd> finish()
    {
        keep_peak();
        return std::move(best_);
    }

  private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    struct Known {
        int weight = 0;
        std::size_t wanted = 0; ///< how often the text has it
        std::size_t seen = 0;   ///< how often it is among the last lines
    };

    void keep_peak()
    {
        if (peak_.score > 0) {
            best_.push_back(peak_);
            std::sort(best_.begin(), best_.end(), [](const Crowd& a, const Crowd& b) {
                return a.score != b.score ? a.score > b.score : a.last < b.last;
            });
            best_.resize(std::min(best_.size(), most_crowds));
        }
        peak_ = {};
    }

    std::unordered_map<std::string_view, std::size_t> ids_;
    std::vector<Known> known_;
    std::vector<std::size_t> ring_; ///< ids of the last lines
    int score_ = 0;
    Crowd peak_; ///< of the lines since the one before it was kept
    std::vector<Crowd> best_;
};

/// The places where the longest line of the text has something alike.
class AlikeFinder {
  public:
    explicit AlikeFinder(const WantedLines& wanted)
        : longest_(longest_of(wanted)), part_(wanted.is_part(longest_)),
          similarity_(wanted.lines[longest_])
    {
    }

    void take(const WalkedLine& line)
    {
        const unsigned percent =
            part_ ? similarity_.percent_of_part(line.text) : similarity_.percent(line.text);
        if (percent < least_alike ||
            (best_.size() == most_alike && percent <= best_.back().percent)) {
            return;
        }
        NearPlace place;
        place.anchor = line.number;
        place.wanted = longest_;
        place.percent = percent;
        best_.push_back(std::move(place));
        // The nearest first, of equals the one further up.
        std::sort(best_.begin(), best_.end(), [](const NearPlace& a, const NearPlace& b) {
            return a.percent != b.percent ? a.percent > b.percent : a.anchor < b.anchor;
        });
        best_.resize(std::min(best_.size(), most_alike));
    }

    [[nodiscard]] std::vector<NearPlace> finish() { return std::move(best_); }

  private:
    static std::size_t longest_of(const WantedLines& wanted)
    {
        const auto longest = std::max_element(
            wanted.lines.begin(), wanted.lines.end(),
            [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
        return static_cast<std::size_t>(longest - wanted.lines.begin());
    }

    std::size_t longest_;
    bool part_;
    Similarity similarity_;
    std::vector<NearPlace> best_;
};

/// `count` lines above that line, or as many as there are.
std::uint64_t line_above(std::uint64_t line, std::uint64_t count)
{
    return line > count ? line - count : 1;
}

void read_places(const Document& document, std::vector<NearPlace>& places)
{
    const auto keep = [&](const WalkedLine& line) {
        for (auto& place : places) {
            if (line.number >= place.first && line.number < place.behind) {
                place.actual.emplace_back(line.text);
            }
        }
    };
    walk_lines(document, keep, walked_for_places);
}

} // namespace

bool WantedLines::is_part(std::size_t i) const
{
    return i == 0 || (i + 1 == lines.size() && !complete);
}

bool WantedLines::same(std::size_t i, std::string_view actual) const
{
    const bool first = i == 0;
    const bool open_end = i + 1 == lines.size() && !complete;
    if (first && open_end) {
        return actual.find(lines[i]) != std::string_view::npos;
    }
    return first      ? actual.ends_with(lines[i])
           : open_end ? actual.starts_with(lines[i])
                      : actual == lines[i];
}

WantedLines wanted_lines(std::string_view text)
{
    WantedLines wanted{.lines = {}, .complete = text.ends_with('\n')};
    const auto take = [&](const WalkedLine& line) {
        if (wanted.lines.size() < compared_lines) {
            wanted.lines.emplace_back(line.text);
        } else {
            wanted.more = wanted.complete = true;
        }
    };
    LineSplitter splitter;
    splitter.feed(text, take);
    splitter.finish(take);
    return wanted;
}

std::string_view bare_line(std::string_view line)
{
    constexpr std::string_view blanks = " \t\r";
    const auto begin = line.find_first_not_of(blanks);
    return begin == line.npos ? std::string_view()
                              : line.substr(begin, line.find_last_not_of(blanks) + 1 - begin);
}

int weight_of_line(std::string_view bare)
{
    constexpr std::size_t telling = 3; // characters
    return 10 + 30 * static_cast<int>(std::min(bare.size(), telling));
}

std::vector<NearPlace> near_places(const Document& document, const WantedLines& wanted)
{
    CrowdFinder crowds(wanted);
    AlikeFinder alike(wanted);
    walk_lines(
        document,
        [&](const WalkedLine& line) {
            crowds.take(line);
            alike.take(line);
        },
        walked_for_places);
    const std::uint64_t size = wanted.lines.size();
    const std::uint64_t slack = slack_of(wanted);
    auto places = alike.finish();
    for (auto& place : places) {
        place.first = line_above(place.anchor, place.wanted + slack);
        place.behind = place.anchor + (size - place.wanted) + slack;
    }
    for (const auto& crowd : crowds.finish()) {
        NearPlace place;
        place.first = line_above(crowd.last, size + slack);
        place.behind = crowd.last + size + 1;
        places.push_back(std::move(place));
    }
    read_places(document, places);
    return places;
}

} // namespace berth::guest

#include "sandbox/session/untold.hpp"

#include "sandbox/session/unseen_outcomes.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

namespace berth::session {
namespace {

/// Of a session that servers come to and die of again and again the latest, and how many others.
constexpr std::size_t most_kept = 8;

} // namespace

Untold::Untold(const Record& record, bool knows, Told& told, Teller teller, const Untold& before)
    : news_(record.news), generation_(record.machine.generation), outcomes_(record.untold)
{
    if (!has_untold(record)) {
        return;
    }
    teller_ = std::move(teller);
    std::vector<std::string> notices;
    std::ranges::copy_if(outcomes_, std::back_inserter(notices),
                         [&before](const std::string& outcome) { return !before.tells(outcome); });
    const bool has_told = news_ == before.news_ && generation_ == before.generation_;
    if (!knows && !has_told && !news_.empty()) {
        notices.push_back(news_);
    }
    std::ranges::copy_if(before.reads_, std::back_inserter(reads_),
                         [](const auto& read) { return !read->is_set(); });
    reads_.push_back(std::make_shared<sandbox::ReadMark>());
    told.add({.notices = std::move(notices),
              .receipts = {std::make_shared<sandbox::Receipt>(reads_.back())}});
}

bool Untold::is_read() const
{
    return !reads_.empty() &&
           std::ranges::all_of(reads_, [](const auto& read) { return read->is_set(); });
}

void Untold::when_read(const std::function<void()>& action) const
{
    for (const auto& read : reads_) {
        read->then(action);
    }
}

bool Untold::tells(const std::string& outcome) const
{
    return std::ranges::find(outcomes_, outcome) != outcomes_.end();
}

bool Untold::remove_from(Record& record) const
{
    const bool had_news = !record.news.empty() && record.news == news_;
    if (had_news) {
        record.news.clear();
    }
    const auto removed =
        std::erase_if(record.untold, [this](const std::string& notice) { return tells(notice); });
    return had_news || removed > 0;
}

void keep_untold(Record& record, const std::vector<std::string>& notices)
{
    auto& kept = record.untold;
    // Who was killed, or failed, between this and the machine's end comes with the same ones again,
    // or with some of them, and what those printed.
    if (kept.size() >= notices.size() &&
        std::equal(notices.rbegin(), notices.rend(), kept.rbegin())) {
        return;
    }
    drop_of_same_jobs(kept, notices);
    kept.insert(kept.end(), notices.begin(), notices.end());
    if (kept.size() > most_kept) {
        const auto others = kept.size() - most_kept + 1; // with the place of their number
        auto number = notice_of_earlier(std::span(kept).first(others));
        kept.erase(kept.begin() + 1, kept.begin() + static_cast<std::ptrdiff_t>(others));
        kept.front() = std::move(number);
    }
}

void keep_noted_words(Record& record, sandbox::Backend& backend)
{
    if (!record.unnamed) {
        keep_untold(record, notices_of_words(backend.last_words(record.machine)));
    }
}

} // namespace berth::session

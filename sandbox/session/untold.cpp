#include "sandbox/session/untold.hpp"

#include "sandbox/session/unseen_outcomes.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace berth::session {
namespace {

/// Of a session that servers come to and die of again and again the latest, and how many others.
constexpr std::size_t most_kept = 8;

} // namespace

Untold::Untold(const Record& record, bool knows, Told& told, Teller teller)
    : news_(record.news), outcomes_(record.untold)
{
    if (!has_untold(record)) {
        return;
    }
    teller_ = std::move(teller);
    read_ = std::make_shared<sandbox::ReadMark>();
    auto notices = outcomes_;
    if (!knows && !news_.empty()) {
        notices.push_back(news_);
    }
    told.add(
        {.notices = std::move(notices), .receipts = {std::make_shared<sandbox::Receipt>(read_)}});
}

bool Untold::remove_from(Record& record) const
{
    const bool had_news = !record.news.empty() && record.news == news_;
    if (had_news) {
        record.news.clear();
    }
    const auto removed = std::erase_if(record.untold, [this](const std::string& notice) {
        return std::find(outcomes_.begin(), outcomes_.end(), notice) != outcomes_.end();
    });
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

#include "sandbox/session/untold.hpp"

#include <algorithm>
#include <cstddef>

namespace berth::session {
namespace {

/// Of a session that servers come to and die of again and again the latest count.
constexpr std::size_t most_kept = 8;

} // namespace

Untold::Untold(const Record& record, Told& told) : notices_(record.untold)
{
    if (notices_.empty()) {
        return;
    }
    read_ = std::make_shared<std::atomic<bool>>(false);
    told.add({.notices = notices_, .receipts = {std::make_shared<sandbox::Receipt>(read_)}});
}

bool Untold::remove_from(Record& record) const
{
    const auto removed = std::erase_if(record.untold, [this](const std::string& notice) {
        return std::find(notices_.begin(), notices_.end(), notice) != notices_.end();
    });
    return removed > 0;
}

void keep_untold(Record& record, const std::vector<std::string>& notices)
{
    auto& kept = record.untold;
    kept.insert(kept.end(), notices.begin(), notices.end());
    if (kept.size() > most_kept) {
        kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(most_kept));
    }
}

} // namespace berth::session

#include "sandbox/guest/search/first_files.hpp"

#include <algorithm>
#include <iterator>

namespace berth::guest::search {

namespace {

/// Names kept at most, whatever limit the caller asked for.
constexpr std::size_t max_bytes = 8U << 20;

int rank(char c) noexcept
{
    return c == '/' ? -1 : static_cast<unsigned char>(c);
}

} // namespace

bool PathOrder::operator()(std::string_view a, std::string_view b) const noexcept
{
    const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (left == a.end() || right == b.end()) {
        return left == a.end() && right != b.end();
    }
    return rank(*left) < rank(*right);
}

void FirstFiles::add(std::string_view path, File file)
{
    const std::lock_guard lock(mutex_);
    if (dropped_ && !files_.empty() && !PathOrder()(path, files_.rbegin()->first)) {
        return; // behind something that was already left out
    }
    files_.insert_or_assign(std::string(path), file);
    units_ += file.units;
    bytes_ += path.size();
    while (files_.size() > 1) {
        const auto last = std::prev(files_.end());
        if (units_ - last->second.units < wanted_ && bytes_ <= max_bytes) {
            return;
        }
        units_ -= last->second.units;
        bytes_ -= last->first.size();
        files_.erase(last);
        dropped_ = true;
    }
}

} // namespace berth::guest::search

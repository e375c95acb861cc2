#include "sandbox/protocol/kept_text.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace berth::protocol {
namespace {

/// Sees every byte that a command prints, so in lanes, which the compiler adds up at once.
std::uint64_t count_newlines(std::string_view text)
{
    constexpr std::size_t lanes = 32;
    constexpr std::size_t most_rounds = 255; // as far as a lane counts
    std::uint64_t count = 0;
    while (text.size() >= lanes) {
        std::array<std::uint8_t, lanes> found{};
        std::uint8_t* const sums = found.data();
        const std::size_t rounds = std::min(text.size() / lanes, most_rounds);
        for (std::size_t round = 0; round < rounds; ++round) {
            const char* const block = text.data() + (round * lanes);
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                sums[lane] = static_cast<std::uint8_t>(sums[lane] + (block[lane] == '\n' ? 1 : 0));
            }
        }
        count = std::accumulate(found.begin(), found.end(), count);
        text.remove_prefix(rounds * lanes);
    }
    return count + static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

} // namespace

void KeptText::add(std::string_view data)
{
    if (data.empty()) {
        return;
    }
    total_bytes_ += data.size();
    newlines_ += count_newlines(data);
    ends_with_newline_ = data.back() == '\n';
    keep(data);
}

void KeptText::keep(std::string_view data)
{
    const std::size_t room = head_limit_ - std::min<std::uint64_t>(head_.size(), head_limit_);
    head_.append(data.substr(0, room));
    data.remove_prefix(std::min(room, data.size()));
    if (tail_limit_ == 0 || data.empty()) {
        return;
    }
    if (data.size() >= tail_limit_) {
        ring_.assign(data.substr(data.size() - tail_limit_));
        ring_start_ = 0;
        return;
    }
    const std::size_t growth = std::min<std::size_t>(tail_limit_ - ring_.size(), data.size());
    ring_.append(data.substr(0, growth));
    data.remove_prefix(growth);
    while (!data.empty()) {
        const std::size_t piece = std::min(data.size(), ring_.size() - ring_start_);
        data.copy(ring_.data() + ring_start_, piece);
        ring_start_ = (ring_start_ + piece) % ring_.size();
        data.remove_prefix(piece);
    }
}

std::string KeptText::tail() const
{
    return ring_.substr(ring_start_) + ring_.substr(0, ring_start_);
}

std::string KeptText::end(std::size_t size) const
{
    std::string text = tail();
    if (text.size() >= size) {
        text.erase(0, text.size() - size);
    } else if (omitted_bytes() == 0) {
        text.insert(0, head_, head_.size() - std::min(head_.size(), size - text.size()));
    }
    return text;
}

std::uint64_t KeptText::omitted_lines() const
{
    return newlines_ - count_newlines(head_) - count_newlines(ring_);
}

void KeptText::drop() noexcept
{
    head_limit_ = 0;
    tail_limit_ = 0;
    std::string().swap(head_);
    std::string().swap(ring_);
    ring_start_ = 0;
}

void KeptText::move_to(std::string& head, std::string& tail) &&
{
    head = std::move(head_);
    std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(ring_start_),
                ring_.end());
    tail = std::move(ring_);
}

} // namespace berth::protocol

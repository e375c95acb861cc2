#include "sandbox/guest/search/literal_set.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace berth::guest::search {

namespace {

/// How common a byte is in source code and prose, roughly: the higher the commoner.
constexpr unsigned commonness(unsigned char byte) noexcept
{
    constexpr std::string_view by_frequency = " etaoinsrlcdpumfhg_.,y\nb()v-\"/0x=1;w:k*'2\t";
    const std::size_t at = by_frequency.find(static_cast<char>(byte));
    if (at != std::string_view::npos) {
        return 255U - static_cast<unsigned>(at) * 4U;
    }
    if (byte >= 'a' && byte <= 'z') {
        return 70;
    }
    if (byte >= 0x80) {
        return 10;
    }
    return byte > ' ' ? 40 : 20;
}

constexpr bool is_upper(unsigned char byte) noexcept
{
    return byte >= 'A' && byte <= 'Z';
}

constexpr bool is_letter(unsigned char byte) noexcept
{
    return is_upper(byte) || (byte >= 'a' && byte <= 'z');
}

constexpr char lower(char c) noexcept
{
    const auto byte = static_cast<unsigned char>(c);
    return is_upper(byte) ? static_cast<char>(byte | 0x20U) : c;
}

bool equal_folded(const char* text, std::string_view folded) noexcept
{
    for (std::size_t i = 0; i < folded.size(); ++i) {
        if (lower(text[i]) != folded[i]) {
            return false;
        }
    }
    return true;
}

std::size_t rarest_window(std::string_view literal, std::size_t size) noexcept
{
    std::size_t best = 0;
    unsigned best_score = ~0U;
    for (std::size_t at = 0; at + size <= literal.size(); ++at) {
        unsigned score = 0;
        for (std::size_t i = 0; i < size; ++i) {
            score += commonness(static_cast<unsigned char>(literal[at + i]));
        }
        if (score < best_score) {
            best = at;
            best_score = score;
        }
    }
    return best;
}

bool has_avx2() noexcept
{
#if defined(__x86_64__)
    static const bool has = __builtin_cpu_supports("avx2") != 0;
    return has;
#else
    return false;
#endif
}

} // namespace

LiteralSet::LiteralSet(std::vector<std::string> literals, bool fold)
    : literals_(std::move(literals)), fold_(fold)
{
    for (std::string& literal : literals_) {
        window_ = std::min(window_, literal.size());
        if (fold_) {
            std::ranges::transform(literal, literal.begin(), lower);
        }
    }
    for (std::size_t i = 0; i < literals_.size(); ++i) {
        const std::string& literal = literals_[i];
        const unsigned bucket = static_cast<unsigned>(i % buckets_.size());
        offsets_.push_back(rarest_window(literal, window_));
        buckets_[bucket].push_back(i);
        for (std::size_t position = 0; position < window_; ++position) {
            const auto byte = static_cast<unsigned char>(literal[offsets_[i] + position]);
            add_byte(position, byte, bucket);
            if (fold_ && is_letter(byte)) {
                add_byte(position, byte ^ 0x20U, bucket);
            }
        }
    }
}

void LiteralSet::add_byte(std::size_t position, unsigned char byte, unsigned bucket) noexcept
{
    Tables& tables = tables_[position];
    const auto bit = static_cast<std::uint8_t>(1U << bucket);
    for (const std::size_t lane : {0U, 16U}) {
        tables.low[lane + (byte & 15U)] |= bit;
        tables.high[lane + (byte >> 4U)] |= bit;
    }
}

LiteralSet::Hit LiteralSet::verify(std::string_view text, std::size_t from, std::size_t window,
                                   unsigned buckets) const noexcept
{
    for (; buckets != 0; buckets &= buckets - 1) {
        for (const std::size_t index : buckets_[static_cast<unsigned>(std::countr_zero(buckets))]) {
            const std::string& literal = literals_[index];
            const std::size_t offset = offsets_[index];
            if (window < from + offset || window - offset + literal.size() > text.size()) {
                continue;
            }
            const std::size_t at = window - offset;
            const bool equal =
                fold_ ? equal_folded(text.data() + at, literal)
                      : std::memcmp(text.data() + at, literal.data(), literal.size()) == 0;
            if (equal) {
                return {.at = at, .size = literal.size()};
            }
        }
    }
    return {};
}

LiteralSet::Hit LiteralSet::find_scalar(std::string_view text, std::size_t from,
                                        std::size_t at) const noexcept
{
    for (; at + window_ <= text.size(); ++at) {
        unsigned buckets = ~0U;
        for (std::size_t position = 0; position < window_ && buckets != 0; ++position) {
            const auto byte = static_cast<unsigned char>(text[at + position]);
            buckets &= tables_[position].low[byte & 15U];
            buckets &= tables_[position].high[byte >> 4U];
        }
        if (buckets != 0) {
            if (const Hit hit = verify(text, from, at, buckets)) {
                return hit;
            }
        }
    }
    return {};
}

#if defined(__x86_64__)

namespace {

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i buckets_of(const char* data, __m256i low,
                                                                      __m256i high) noexcept
{
    const __m256i half = _mm256_set1_epi8(15);
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
    const __m256i low_half = _mm256_and_si256(bytes, half);
    const __m256i high_half = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
    return _mm256_and_si256(_mm256_shuffle_epi8(low, low_half),
                            _mm256_shuffle_epi8(high, high_half));
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i
load_table(const std::array<std::uint8_t, 32>& table) noexcept
{
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(table.data()));
}

} // namespace

[[gnu::target("avx2")]] LiteralSet::Hit LiteralSet::find_avx2(std::string_view text,
                                                              std::size_t from) const noexcept
{
    constexpr std::size_t width = 32;
    const __m256i low0 = load_table(tables_[0].low);
    const __m256i high0 = load_table(tables_[0].high);
    const __m256i low1 = load_table(tables_[1].low);
    const __m256i high1 = load_table(tables_[1].high);
    const __m256i low2 = load_table(tables_[2].low);
    const __m256i high2 = load_table(tables_[2].high);
    std::size_t at = from;
    for (; at + width + max_window <= text.size(); at += width) {
        __m256i found = buckets_of(text.data() + at, low0, high0);
        if (window_ > 1) {
            found = _mm256_and_si256(found, buckets_of(text.data() + at + 1, low1, high1));
        }
        if (window_ > 2) {
            found = _mm256_and_si256(found, buckets_of(text.data() + at + 2, low2, high2));
        }
        const __m256i none = _mm256_cmpeq_epi8(found, _mm256_setzero_si256());
        auto mask = ~static_cast<unsigned>(_mm256_movemask_epi8(none));
        if (mask == 0) {
            continue;
        }
        alignas(32) std::array<std::uint8_t, width> lanes;
        _mm256_store_si256(reinterpret_cast<__m256i*>(lanes.data()), found);
        for (; mask != 0; mask &= mask - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(mask));
            if (const Hit hit = verify(text, from, at + lane, lanes[lane])) {
                return hit;
            }
        }
    }
    return find_scalar(text, from, at);
}

#else

LiteralSet::Hit LiteralSet::find_avx2(std::string_view text, std::size_t from) const noexcept
{
    return find_scalar(text, from, from);
}

#endif

LiteralSet::Hit LiteralSet::find(std::string_view text, std::size_t from) const noexcept
{
    return has_avx2() ? find_avx2(text, from) : find_scalar(text, from, from);
}

} // namespace berth::guest::search

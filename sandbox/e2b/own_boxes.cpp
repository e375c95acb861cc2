#include "sandbox/e2b/own_boxes.hpp"

#include "sandbox/base/wall_time.hpp"
#include "sandbox/e2b/box_home.hpp"
#include "sandbox/e2b/box_request.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace berth::e2b {
namespace {

std::string text_at(const Metadata& metadata, const char* key)
{
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
}

/// Of UTC, perhaps with parts of a second.
std::optional<std::chrono::system_clock::time_point> time_of(const std::string& text)
{
    constexpr std::size_t seconds = std::string_view("2026-01-01T00:00:00").size();
    const bool plain = text.size() > seconds && text.back() == 'Z' &&
                       (text[seconds] == 'Z' || text[seconds] == '.');
    return plain ? parse_rfc3339(text.substr(0, seconds) + 'Z') : std::nullopt;
}

/// Since when it sleeps is by E2B's clock, so how late it is should be too: by that of a host whose
/// clock is years ahead every sandbox would have slept for too long, and be ended with its files.
/// Of two that differ the earlier one ends nothing too soon.
std::chrono::system_clock::time_point now_of(const BoxInfo& box,
                                             std::chrono::system_clock::time_point here)
{
    const auto there = parse_http_date(box.told_at);
    return there ? std::min(*there, here) : here;
}

} // namespace

std::optional<std::chrono::seconds> slept(const BoxInfo& box,
                                          std::chrono::system_clock::time_point here)
{
    const auto now = now_of(box, here);
    const auto since = time_of(box.end_at);
    return box.state == BoxState::paused && since && *since <= now
               ? std::optional(std::chrono::floor<std::chrono::seconds>(now - *since))
               : std::nullopt;
}

std::vector<sandbox::FoundMachine> own_machines(const std::vector<BoxInfo>& boxes,
                                                const std::string& owner,
                                                std::chrono::system_clock::time_point now)
{
    std::vector<sandbox::FoundMachine> found;
    for (const auto& box : boxes) {
        const auto time = slept(box, now);
        const auto generation = text_at(box.metadata, metadata_keys::generation);
        const auto key = text_at(box.metadata, metadata_keys::key);
        if (owner.empty() || text_at(box.metadata, metadata_keys::owner) != owner ||
            generation.empty() || key.empty() || !time) {
            continue;
        }
        found.push_back({.record = {.backend = "e2b",
                                    .id = box.box.id,
                                    .generation = generation,
                                    .data = {{"key_hash", key}},
                                    .home = encode(BoxHome{
                                        .id = box.box.id, .number = generation, .proof = {}})},
                         .slept = *time});
    }
    return found;
}

} // namespace berth::e2b

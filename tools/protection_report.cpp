#include "tools/protection_report.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace berth::tools {
namespace {

using protocol::Change;
using protocol::ProtectedChange;

std::string_view word_of(Change change)
{
    switch (change) {
    case Change::created:
        return "created";
    case Change::removed:
        return "removed";
    case Change::changed:
        break;
    }
    return "changed";
}

/// "/home/user/.bashrc (changed), /home/user/CLAUDE.md (created) and 3 more"; empty for none.
std::string listed(const std::vector<ProtectedChange>& changes, bool before)
{
    constexpr std::size_t most_named = 5;
    std::vector<std::string> words;
    for (const auto& change : changes) {
        if (change.before == before) {
            words.push_back(visible(change.path) + " (" + std::string(word_of(change.change)) +
                            ")");
        }
    }
    return joined_first(words, most_named);
}

} // namespace

std::optional<protocol::Protection> protection_of(const Settings& settings)
{
    return settings.protection.paths.empty() ? std::nullopt : std::optional(settings.protection);
}

void tell_protected(Context& context, nlohmann::json& data,
                    const std::vector<ProtectedChange>& changes)
{
    if (changes.empty()) {
        return;
    }
    auto& list = data["protected_changes"] = nlohmann::json::array();
    for (const auto& change : changes) {
        list.push_back({{"path", utf8::sanitize(change.path)},
                        {"change", word_of(change.change)},
                        {"when", change.before ? "before" : "during"}});
    }
    const auto tell = [&](const std::string& files, const std::string& who) {
        if (!files.empty()) {
            context.told.notices.push_back("protected files, which programs outside of the sandbox "
                                           "may obey, were changed " +
                                           who + ": " + files);
        }
    };
    tell(listed(changes, false), "by this call or while it ran");
    tell(listed(changes, true), "before this call, by a job or from outside");
}

} // namespace berth::tools

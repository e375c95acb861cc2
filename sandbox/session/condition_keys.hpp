#pragma once

#include "sandbox/session/settings.hpp"

#include <span>
#include <string_view>

namespace berth::session {

/// What becomes of a machine that was made otherwise than a server asks for in one setting.
enum class Change : unsigned char {
    none,    ///< it stays as it is
    live,    ///< it changes, as far as its guest and its host let it: docs/adr/0020-live-terms.md
    another, ///< another takes its place when nobody uses it
};

/// A setting that machines are made with.
struct ConditionKey {
    std::string_view key;
    Change change = Change::none;
    /// It says what a machine reaches: where the backend changes networks it can be given that.
    bool of_network = false;
    bool (*is_same)(const Settings& wanted, const Conditions& made) = nullptr;

    /// It was asked for, and the machine is another in it.
    [[nodiscard]] bool differs(const Settings& settings, const Conditions& made) const
    {
        return !is_same(settings, made) && settings.asked.contains(key);
    }
};

/// All of them, in the order of their keys.
[[nodiscard]] std::span<const ConditionKey> condition_keys() noexcept;

} // namespace berth::session

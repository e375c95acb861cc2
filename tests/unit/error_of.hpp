#pragma once

#include "sandbox/base/error.hpp"

#include <optional>

namespace berth::tests {

/// The code of the berth::Error that `action` throws, nothing when it throws none.
template <class Action>
std::optional<ErrorCode> error_of(Action&& action)
{
    try {
        action();
    } catch (const Error& error) {
        return error.code();
    }
    return std::nullopt;
}

} // namespace berth::tests

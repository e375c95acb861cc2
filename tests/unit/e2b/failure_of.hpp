#pragma once

#include "sandbox/e2b/http.hpp"

#include <doctest/doctest.h>

namespace berth::tests {

/// What `action` failed with; a test that expected a failure and got none fails.
template <class Action>
e2b::HttpFailure failure_of(Action&& action)
{
    try {
        action();
    } catch (const e2b::HttpFailure& failure) {
        return failure;
    }
    FAIL("no failure");
    return {e2b::HttpFailure::Cause::broken, false, {}, {}};
}

} // namespace berth::tests

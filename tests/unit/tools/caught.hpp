#pragma once

#include "sandbox/base/error.hpp"

#include <doctest/doctest.h>

namespace berth::tools::test {

/// The berth::Error that `action` throws; the test fails when it throws none.
template <class Action>
Error caught(Action&& action)
{
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    FAIL("no error was thrown");
    return {ErrorCode::internal, ""};
}

} // namespace berth::tools::test

#pragma once

#include "sandbox/local/blockers.hpp"

#include <string>

namespace berth::local::test {

/// A launch that came to an end at that step.
inline LaunchResult failed(const std::string& step, int error)
{
    LaunchResult result;
    result.step = step;
    result.error = error;
    result.text = "did it";
    return result;
}

} // namespace berth::local::test

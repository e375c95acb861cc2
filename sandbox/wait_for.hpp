#pragma once

#include <chrono>
#include <stop_token>

namespace berth::sandbox {

/// Until so much time is over, or a stop request comes.
void wait_for(std::chrono::milliseconds time, const std::stop_token& stop);

} // namespace berth::sandbox

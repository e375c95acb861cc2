#pragma once

#include <cstddef>
#include <functional>

namespace berth::session {

/// Calls `work` with each number below `count`, up to 32 at once and in no order; returns when all
/// are done. Where the host gives no more threads, fewer at once. Throws what one of them threw.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

} // namespace berth::session

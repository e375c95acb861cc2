#pragma once

#include <cstddef>
#include <string>

namespace berth {

/// `bytes` (at most 256) from the kernel's generator as lower-case hex digits: unguessable, so fit
/// for ids and secrets. Throws std::system_error.
[[nodiscard]] std::string random_hex(std::size_t bytes);

} // namespace berth

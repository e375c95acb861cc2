#pragma once

namespace berth {

/// Whether this is built with a sanitizer that has a heap and shadow memory of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool has_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool has_sanitizer =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool has_sanitizer = false;
#endif

} // namespace berth

#pragma once

#include <exception>
#include <string>

namespace berth::guest {

/// The payload of an error frame: berth::Error as it is, WireError as invalid_argument,
/// std::bad_alloc as too_large, std::system_error by its errno, anything else as internal.
[[nodiscard]] std::string encode_error(const std::exception_ptr& error);

/// What that would say, without what to do.
[[nodiscard]] std::string message_of(const std::exception_ptr& error);

} // namespace berth::guest

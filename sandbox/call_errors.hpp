#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/protocol/messages.hpp"

#include <string_view>

// What is said of a call to which no answer came. Each says what may have come of it, and no more.

namespace berth::sandbox {

/// In a sentence about what became of it.
[[nodiscard]] std::string_view name_of(protocol::Operation operation) noexcept;

[[noreturn]] void throw_lost(const Error& error, protocol::Operation operation);
/// throw_lost() or throw_not_asked(), as `error` has it.
[[noreturn]] void throw_unknown(const Error& error, protocol::Operation operation);
[[noreturn]] void throw_left(bool has_begun);
[[noreturn]] void throw_not_asked(const Error& error, protocol::Operation operation);
[[noreturn]] void throw_not_sent(const Error& error, protocol::Operation operation);
[[noreturn]] void throw_not_confirmed(const Error& error);
[[noreturn]] void throw_data_lost();
[[noreturn]] void throw_not_read(const Error& error, protocol::Operation operation);
[[noreturn]] void throw_broke_off(const Error& error, bool imports);

} // namespace berth::sandbox

#pragma once

#include <string>
#include <string_view>

namespace berth::fuzz {

/// What a unified diff of one file makes of `old_text`, done in the plainest way. Throws
/// std::logic_error for a diff that does not fit it.
[[nodiscard]] std::string applied_diff(std::string_view diff, std::string_view old_text);

} // namespace berth::fuzz

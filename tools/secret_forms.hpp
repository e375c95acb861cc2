#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace berth::tools {

/// Shorter values have no forms: to look for them would hide words.
inline constexpr std::size_t shortest_secret = 8;

/// One in which programs print a value.
struct SecretForm {
    std::string text;            ///< without line ends
    bool may_be_encoded = false; ///< is to be looked for behind percent signs too
};

/// The value as it is, in base64 (either alphabet, at any place in what is encoded) and in
/// hexadecimal digits, each once.
[[nodiscard]] std::vector<SecretForm> secret_forms(const std::string& value);

} // namespace berth::tools

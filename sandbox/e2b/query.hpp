#pragma once

#include <map>
#include <string>
#include <string_view>

namespace berth::e2b {

/// For a part of a URL: everything but letters, digits, - . _ ~ as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view text);

using Metadata = std::map<std::string, std::string>;

/// The value of ?metadata= by which sandboxes are listed: each key and value encoded, the pairs
/// joined and encoded as a form, and that encoded again as the value of a query. The server takes
/// all three off, so two of them would lose every & = % + in a value, and find other sandboxes.
[[nodiscard]] std::string metadata_query(const Metadata& metadata);

} // namespace berth::e2b

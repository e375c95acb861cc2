#pragma once

#include <map>
#include <string>

namespace berth::e2b {

using Metadata = std::map<std::string, std::string>;

/// The value of ?metadata= by which sandboxes are listed: each key and value encoded, the pairs
/// joined and encoded as a form, and that encoded again as the value of a query. The server takes
/// all three off, so two of them would lose every & = % + in a value, and find other sandboxes.
[[nodiscard]] std::string metadata_query(const Metadata& metadata);

} // namespace berth::e2b

#pragma once

#include "sandbox/e2b/api_types.hpp"

#include <string>
#include <string_view>
#include <vector>

// The bodies of the control plane. Members that are not known are passed over; what cannot be used
// (no JSON, no id, another type) throws Error(backend_error), which quotes nothing: a token may be
// in it.

namespace berth::e2b {

enum class ApiVersion : unsigned char { v1, v2 };

[[nodiscard]] std::string create_body(const BoxRequest& request, ApiVersion version);

[[nodiscard]] std::string timeout_body(std::chrono::seconds timeout);
[[nodiscard]] std::string network_body(const BoxNetwork& network);

[[nodiscard]] Box parse_box(std::string_view body);

[[nodiscard]] BoxInfo parse_info(std::string_view body);

[[nodiscard]] std::vector<BoxInfo> parse_list(std::string_view body);

} // namespace berth::e2b

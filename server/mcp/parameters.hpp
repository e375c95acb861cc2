#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

// Parameters of requests, checked. What is wrong with them is rpc::ProtocolError -32602.

namespace berth::mcp {

/// `params[name]`, a string. `method` is named in the error.
[[nodiscard]] const std::string& string_parameter(const nlohmann::json& params, const char* name,
                                                  std::string_view method);

[[noreturn]] void refuse_cursor();

/// Of a list that is one page: no cursor was ever given out but the empty one of a careless client.
void require_first_page(const nlohmann::json& params);

} // namespace berth::mcp

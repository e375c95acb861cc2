#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace berth::tools::claude {

/// `path`, absolute, of the result `data` of a search, as it is shown: relative to the working
/// directory when that is how `path` was asked for, or not at all. For one line; valid UTF-8.
[[nodiscard]] std::string shown_path(const nlohmann::json& arguments, const nlohmann::json& data,
                                     std::string_view path);

} // namespace berth::tools::claude

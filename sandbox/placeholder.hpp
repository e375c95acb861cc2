#pragma once

#include <string>
#include <string_view>

namespace berth::sandbox {

/// What stands in a sandbox for a secret that only its proxy puts in: of letters and digits, so
/// that no client has to encode it. The same for every server of a machine, another one in each
/// machine. `token`: the guest's secret, which cannot be found by what is returned.
[[nodiscard]] std::string placeholder_of(std::string_view token, std::string_view name);

} // namespace berth::sandbox

#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/e2b/settings.hpp"

#include <string>
#include <vector>

namespace berth::e2b {

using sandbox::Check;

/// The name of every check that run_doctor() makes; makes none.
[[nodiscard]] std::vector<std::string> check_names();

/// Whether there is a key, and E2B takes it. Makes no sandbox, which would cost. Waits half a
/// minute at most. Throws nothing: what cannot be tried is a check that is not ok.
[[nodiscard]] std::vector<Check> run_doctor(const Variables& variables);

} // namespace berth::e2b

#pragma once

#include "server/options/options.hpp"

#include <string>

namespace berth::server {

/// The path of a program that comes with berth ("berth-guest", "berth-launcher"): in
/// $BERTH_LIBEXEC_DIR, else beside this program's installation, else in its build tree; where the
/// installation would have it when it is nowhere.
[[nodiscard]] std::string helper_program(const std::string& name, const Environment& environment);

} // namespace berth::server

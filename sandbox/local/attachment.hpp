#pragma once

#include "sandbox/backend.hpp"

#include <memory>
#include <string>

namespace berth::local {

/// See sandbox::Backend::attach(). `state`: the state directory of this server.
[[nodiscard]] std::unique_ptr<sandbox::Machine>
attach_machine(const std::string& state, const sandbox::MachineRecord& record);

} // namespace berth::local

#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/launcher/process_name.hpp"
#include "sandbox/local/launcher/request.hpp"
#include "sandbox/local/launcher/seccomp.hpp"

namespace berth::local {

/// What is wanted, and what is there already.
struct Launch {
    LaunchSpec& spec;
    UniqueFd file;         ///< the spec, encoded
    UniqueFd lock;         ///< Lent, if there is one
    UniqueFd proxy;        ///< the same
    UniqueFd lifetime;     ///< the same
    FilterProgram& filter; ///< the child's to release
    const ProcessName& process_name;
    MadeAhead ahead;
};

/// Tells the server how it went, once. Throws std::system_error when it is gone.
void answer(const LaunchResult& result);

/// Makes the machine, waits until its guest is ready, and answers on the control socket. False when
/// something failed, or the server went away meanwhile: then nothing is left behind. Throws
/// std::system_error when a failure could not be told either.
[[nodiscard]] bool make_machine(Launch& launch);

} // namespace berth::local

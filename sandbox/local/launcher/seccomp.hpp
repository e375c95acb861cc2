#pragma once

#include <vector>

#include <linux/filter.h>

namespace berth::local {

using FilterProgram = std::vector<sock_filter>;

/// The filter under which the guest and all its commands run, of which every line is in
/// docs/security.md with its reason. It protects the guest from commands, which have its uid, and
/// closes what of the kernel's no command of a session needs. Calls of another architecture's table
/// end the process, numbers that nobody here knows do not exist.
///
/// `forbid_namespaces`: nested user namespaces could not be closed by their limit, so clone3(2) is,
/// too. Throws Failure.
[[nodiscard]] FilterProgram compile_filter(bool forbid_namespaces);

/// Puts it in force, for good. Needs no_new_privs. Throws Failure.
void install_filter(const FilterProgram& program);

} // namespace berth::local

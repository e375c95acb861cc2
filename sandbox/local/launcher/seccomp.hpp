#pragma once

#include <vector>

#include <linux/filter.h>

namespace berth::local {

using FilterProgram = std::vector<sock_filter>;

/// The filter under which the guest and all its commands run. It protects the guest from
/// commands, which have its uid: without it one of them could take its descriptors or cpu time
/// away (prlimit) or starve it (scheduling calls), though not signal or trace it. And it closes the
/// kernel's keyrings, which the session would share with whoever started the server.
///
/// `forbid_namespaces`: nested user namespaces could not be closed by their limit, so they are
/// here. Throws Failure.
[[nodiscard]] FilterProgram compile_filter(bool forbid_namespaces);

/// Puts it in force, for good. Needs no_new_privs. Throws Failure.
void install_filter(const FilterProgram& program);

} // namespace berth::local

#pragma once

namespace berth::local {

/// Installs the filter under which the guest and all its commands run. It protects the guest from
/// commands, which have its uid: without it one of them could take its descriptors or cpu time
/// away (prlimit) or starve it (scheduling calls), though not signal or trace it. And it closes the
/// kernel's keyrings, which the session would share with whoever started the server.
///
/// `forbid_namespaces`: nested user namespaces could not be closed by their limit, so they are
/// here.
void install_filter(bool forbid_namespaces);

} // namespace berth::local

#pragma once

#include <string>
#include <vector>

namespace berth::local {

/// A bash script that tries to get past a layer. Its output ends with "held" when it could not;
/// with "untried" where the programs that it tries with are missing.
struct Probe {
    const char* layer;
    const char* attempt; ///< after "tried: "
    std::string script;
};

/// Of the layers that can be tried from inside. For a sandbox with at most 128 MiB and 100
/// processes, made by the caller: it must not have the caller's namespaces.
[[nodiscard]] std::vector<Probe> doctor_probes();

} // namespace berth::local

#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/e2b/process_stream.hpp"
#include "sandbox/e2b/settings.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace berth::e2b {

struct BackendOptions {
    std::string guest_program; ///< static, for the sandboxes' Linux
    /// Read once, at the beginning: the key, where E2B is, proxies, certificates.
    Variables variables;
    /// A server that has made no call for so long is taken for gone.
    std::chrono::milliseconds lease{60'000};
    EnvdTimes times{};
    /// As Accounts takes them.
    std::vector<std::string> same_account{};
    /// For how long a machine is looked for of whose making no answer came.
    std::chrono::milliseconds late_boxes{15'000};
    /// For how long a machine is woken that is looked at, or changed.
    std::chrono::seconds look{60};
    /// See UnkeptNetworks.
    std::chrono::milliseconds unkept_memory{60'000};
    /// Whose the machines are, in a list with those of other installations; `make`: where nobody
    /// has said that yet. Empty, or nothing: nobody's, and none is found without the books.
    std::function<std::string(bool make)> owner{};
};

/// Machines in E2B's cloud (or one like it): each is a sandbox of theirs with berth's guest
/// resident in it. Makes none before one is wanted. Without a key, or with one that is written
/// wrongly, it is not available, and says why.
[[nodiscard]] std::unique_ptr<sandbox::Backend> make_backend(BackendOptions options);

} // namespace berth::e2b

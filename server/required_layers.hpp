#pragma once

#include "server/app.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace berth::server {

/// Throws Error(invalid_argument): `required_layers` names one that there is not.
void require_known_layers(const Options& options, const Composition& composition);

/// Throws Error(sandbox_unavailable): one of `required_layers` is not in force by `checks`.
void insist(const Options& options, const std::vector<Check>& checks);

/// The layers that the operator insists on (`--require`), looked for in a sandbox such as the
/// options at hand would have made. What was found holds for a minute, and that nothing can be had
/// for some seconds: over HTTP each session's first call asks. Thread-safe; callers with the same
/// kind of sandbox wait for one look.
class RequiredLayers {
  public:
    explicit RequiredLayers(Composition composition) : composition_(std::move(composition)) {}

    /// Throws Error: invalid_argument for a name that is none, sandbox_unavailable where a layer is
    /// not in force or no sandbox can be made. `backend`: by `options`. Does nothing where nothing
    /// is required.
    void insist(const Options& options, sandbox::Backend& backend);

  private:
    using Clock = std::chrono::steady_clock;
    /// All that examine() takes of options: backend, network, template.
    using Kind = std::tuple<std::string, sandbox::Network, std::string>;

    struct Look {
        std::mutex looking; ///< guards what follows
        Clock::time_point until{};
        std::vector<Check> checks;
        std::optional<Error> failed;
    };

    [[nodiscard]] std::shared_ptr<Look> look_of(const Options& options);
    void look(Look& at, const Options& options, sandbox::Backend& backend) const;

    const Composition composition_;
    std::mutex mutex_; ///< guards what follows
    std::map<Kind, std::shared_ptr<Look>> looks_;
};

} // namespace berth::server

#pragma once

#include "sandbox/session/registry.hpp"
#include "sandbox/session/settings.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace berth::session {

/// How many machines there may be at once, in all and of one principal. Holds nothing between
/// calls; thread-safe.
class Admission {
  public:
    Admission(const Settings& settings, sandbox::Backend& backend, Registry& registry);

    /// To be held until the books have the machine that session `id` is about to get: servers that
    /// create at once are counted one after the other. Null where nothing is limited. Throws
    /// Error(busy) when there are as many machines as there may be; one that has died is none.
    [[nodiscard]] std::unique_ptr<Registry::Hold> enter(const SessionId& id,
                                                        const std::string& key) const;

  private:
    struct Count;
    [[nodiscard]] std::unique_ptr<Registry::Hold> turn() const;
    [[nodiscard]] Count count(const std::vector<std::string>& known, const SessionId& id,
                              const std::string& key) const;
    [[nodiscard]] std::optional<Record> machine_of(const std::string& key) const;
    [[nodiscard]] bool has_machine(const std::string& key, const Record& record) const;
    [[nodiscard]] bool is_running(const Record& record) const;

    const Settings& settings_;
    sandbox::Backend& backend_;
    Registry& registry_;
};

} // namespace berth::session

#pragma once

#include "server/options/layers.hpp"
#include "server/options/secret_memory.hpp"
#include "server/options/toml_file.hpp"
#include "tools/secret_mask.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace berth::server {

/// What the operator puts into the environment of every command: `env`, as it stands, and `secret`,
/// of which the source is kept here and the value is read anew for each call, so that it is in no
/// book, log or record of berth, and a new one holds from the next command on
/// (docs/adr/0019-command-variables.md). The values that commands have had stay in memory, so that
/// results can be kept free of them. Thread-safe.
class CommandVariables {
  public:
    /// `env`: NAME=VALUE each. `secret`: NAME=env:VARIABLE, of this process's environment, or
    /// NAME=file:/PATH. `memory`: of the session, shared with what was in force before. `withheld`:
    /// names of those of which commands have a placeholder. Throws Error(invalid_argument) that
    /// names the setting's place, and quotes nothing of a mistyped secret.
    CommandVariables(const RawValue& env, const RawValue& secret, Environment environment,
                     std::shared_ptr<SecretMemory> memory,
                     const std::set<std::string>& withheld = {});

    /// Blocks while files are read. Throws Error(sandbox_unavailable) when a secret is not to be
    /// had, with its name, source and place.
    [[nodiscard]] std::map<std::string, std::string> now() const;

    /// The others: what no command has, but what stands on its way out. Throws as now(), also for a
    /// value that cannot be put into a request.
    [[nodiscard]] std::map<std::string, std::string> withheld() const;

    /// Of the secrets, what there is by now and the values before, also of those that were in force
    /// before: the last few of each. Those that are not to be had are left out.
    [[nodiscard]] std::vector<tools::Secret> secrets() const;

    /// As secrets(), and nothing is read.
    [[nodiscard]] std::vector<tools::Secret> known_secrets() const;

    [[nodiscard]] bool has_withheld() const noexcept;

    /// Whether commands have any: others are withheld.
    [[nodiscard]] bool gives_secrets() const noexcept;

    [[nodiscard]] bool has_secrets() const noexcept { return !secrets_.empty(); }

    /// Those that secrets are read from.
    [[nodiscard]] std::vector<std::string> files() const;

  private:
    struct Source {
        std::string name;
        std::string source; ///< behind "env:" or "file:"
        bool is_file = false;
        bool is_withheld = false;
    };

    void add_secret(const std::string& item, std::size_t number,
                    const std::set<std::string>& withheld);
    void add_values(std::map<std::string, std::string>& values, bool withheld) const;
    [[nodiscard]] std::string value_of(const Source& secret) const;

    std::map<std::string, std::string> plain_;
    std::vector<Source> secrets_;
    std::string origin_; ///< of the secrets
    Environment environment_;
    /// Shared by copies too: what one has given to a command, a result of the other may show.
    std::shared_ptr<SecretMemory> memory_;
};

} // namespace berth::server

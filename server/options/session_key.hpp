#pragma once

#include "sandbox/session/key.hpp"
#include "server/options/toml_file.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server {

/// What the key of a session that was named by `--session`, and of nothing else, is made of.
inline constexpr std::string_view default_key_template = "{principal}/{session}";

/// Which session a name means: the operator's template over what the launcher knows, never over
/// what the model says. Immutable.
class KeyTemplate {
  public:
    /// `key` is the template, e.g. "{principal}/{team}/{session}"; `variables` are NAME=VALUE,
    /// `profile` is what {profile} stands for.
    /// Throws Error(invalid_argument) for a template that cannot be read, for a variable that is
    /// not set (a default would let strangers share a session), and for one that is set but not in
    /// the template (who sets it expects it to keep sessions apart). `only_looks`: who lists, ends
    /// or clears up need not know the variables; a name then leads to no session while one is
    /// missing.
    KeyTemplate(const RawValue& key, const RawValue& variables, std::string profile,
                bool only_looks = false);

    /// An empty `name` means an unnamed session, unless the template asks for no name.
    /// Throws Error(invalid_argument) when the template needs a principal and there is none.
    [[nodiscard]] session::SessionId apply(const std::string& principal,
                                           const std::string& name) const;

  private:
    struct Part {
        bool variable = false;
        std::string text; ///< of the template, or the variable's name
    };

    void parse(std::string_view text);
    /// The first that has no value; empty: none.
    [[nodiscard]] std::string missing() const;
    [[nodiscard]] bool uses(std::string_view variable) const;

    std::string origin_; ///< the template and where it came from, for messages
    std::vector<Part> parts_;
    std::map<std::string, std::string> values_;
    std::string profile_;
    bool is_default_ = false;
    bool only_looks_ = false;
};

} // namespace berth::server

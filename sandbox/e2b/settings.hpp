#pragma once

#include "sandbox/e2b/endpoint.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace berth::e2b {

/// The value of a variable of the environment; nothing where it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Those of this process. Not beside a thread that changes them.
[[nodiscard]] std::optional<std::string> process_variable(const std::string& name);

/// Whom to speak to, and as whom. E2B's own variables, so that what is set for its tools holds.
struct Settings {
    std::string api_key;             ///< E2B_API_KEY; never in a log, a message or an answer
    std::string domain;              ///< E2B_DOMAIN
    Endpoint api;                    ///< E2B_API_URL, else https://api.DOMAIN
    std::optional<Endpoint> sandbox; ///< E2B_SANDBOX_URL: one for all sandboxes
};

/// An empty variable counts as none. Throws Error: authentication_required without a key,
/// invalid_argument for what is written wrongly; neither quotes a value.
[[nodiscard]] Settings read_settings(const Variables& variables);

inline constexpr std::uint16_t envd_port = 49983;

/// Where the envd of a sandbox answers. `box_domain`: what the control plane said of it, if any.
/// Throws Error(backend_error) where that is no domain.
[[nodiscard]] Endpoint envd_endpoint(const Settings& settings, const std::string& sandbox_id,
                                     const std::string& box_domain = {});

/// Whether it can be the id of a sandbox: small letters, digits and hyphens, at most 128. Anything
/// else in the path of a request would be another request: an id may come from the books, from a
/// command line or from a server.
[[nodiscard]] bool is_sandbox_id(std::string_view text) noexcept;

} // namespace berth::e2b

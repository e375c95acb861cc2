#pragma once

#include "server/app.hpp"
#include "server/audit/audit_log.hpp"
#include "server/options/live_settings.hpp"
#include "server/options/options.hpp"
#include "server/required_layers.hpp"

#include <functional>
#include <memory>
#include <string>

namespace berth::server::http {

/// What a server of HTTP makes the sessions of its callers of.
struct Making {
    Given given; ///< as the server was started
    /// Those of the server itself: what a caller without a profile of its own gets.
    std::shared_ptr<const Options> options;
    std::shared_ptr<sandbox::Backend> backend; ///< by `options`
    Composition composition;
    LiveSettings::Told tell_of_settings;
    /// What else a start looks at, of options that changed while it runs; by the backend that they
    /// were made with.
    std::function<LiveSettings::Check(const std::shared_ptr<sandbox::Backend>&)> check_on;
    std::shared_ptr<RequiredLayers> required; ///< no sandbox of a caller's is without them either
    std::function<void(session::Settings&, const std::string& workspace)> tell_of_sessions;
    std::shared_ptr<AuditLog> audit{}; ///< null: none is wanted
};

/// MCP on Streamable HTTP until a signal comes, then at most a second (time_to_end()) to end what
/// is in flight: commands of sessions go on as jobs. Does not return. Exit status 0. Throws Error
/// before it listens.
[[noreturn]] void serve_http(const Making& making);

} // namespace berth::server::http

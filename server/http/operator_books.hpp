#pragma once

#include "sandbox/session/session_manager.hpp"
#include "server/http/serve_http.hpp"
#include "server/http/tenant_maker.hpp"
#include "server/options/live_settings.hpp"
#include "server/options/options.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace berth::server::http {

/// The sessions of all callers, as who runs the server sees them: on the command line that is
/// `berth sessions` with the same settings.
struct Books {
    Books(Options settings, std::shared_ptr<sandbox::Backend> backend)
        : options(std::move(settings)), sessions(options.sessions, std::move(backend))
    {
    }

    Options options;
    session::SessionManager sessions;
    std::shared_ptr<const Options> changed_to{}; ///< of the server; null: as it was started
};

/// One of these for each backend on which sessions may be; what is asked of another one's session
/// says which it is. Made when they are first asked for. Thread-safe.
class OperatorBooks {
  public:
    /// `settings`: of the server, as they are by the time that somebody asks.
    OperatorBooks(const Making& making, LiveSettings& settings, TenantMaker& maker)
        : making_(making), settings_(settings), maker_(maker)
    {
    }

    /// `backend`: empty, the server's own. Throws Error(invalid_argument) for one that there is
    /// not.
    [[nodiscard]] Books& of(const std::string& backend);

    /// Those of sessions that callers have on other backends than the server's own; without those
    /// that cannot be opened, of which the log tells.
    [[nodiscard]] std::vector<session::SessionManager*> others() noexcept;

  private:
    void follow(Books& books, const std::string& backend);

    const Making& making_;
    LiveSettings& settings_;
    TenantMaker& maker_;
    std::mutex mutex_; ///< guards books_
    std::map<std::string, std::unique_ptr<Books>> books_;
};

} // namespace berth::server::http

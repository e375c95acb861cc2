#pragma once

#include "server/application.hpp"
#include "server/http/caller.hpp"
#include "server/http/serve_http.hpp"
#include "server/options/live_settings.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace berth::server::http {

/// Makes what serves one session of one caller, by the settings of the server and of that caller:
/// the settings file as it was last right and whole, but where things are and whose they are as the
/// server was started. Thread-safe.
class TenantMaker {
  public:
    /// `settings`: of the server itself. `observers`: see Application.
    TenantMaker(const Making& making, LiveSettings& settings, Observers observers = {});

    /// Throws Error.
    [[nodiscard]] std::unique_ptr<Application> make(const Caller& caller,
                                                    const std::string& session);

    /// Throws Error(invalid_argument) for a caller whose sessions could not be made, such as one
    /// with a profile that there is not.
    void check(const Caller& caller);

    /// On which sessions of callers may be, beside the server's own: of those that were checked, or
    /// are made by what the settings file says since.
    [[nodiscard]] std::set<std::string> other_backends();

    /// The server's own options, for who only looks, with that backend. Throws
    /// Error(invalid_argument).
    [[nodiscard]] Options options_on(const std::string& backend) const;

    /// One for all who have the same kind, made with what was said for who had it first: it
    /// has processes and connections of its own.
    [[nodiscard]] std::shared_ptr<sandbox::Backend> backend_of(const Options& options);

  private:
    [[nodiscard]] Given server_given() const;
    void note_backend(const Options& options);
    [[nodiscard]] Given given_of(const Caller& caller, const std::string& session) const;

    const Making& making_;
    LiveSettings& settings_;
    const RawValues kept_; ///< for Given::kept
    const Observers observers_;
    std::mutex mutex_; ///< guards what follows
    std::map<std::string, std::shared_ptr<sandbox::Backend>> backends_;
    std::map<std::string, std::shared_ptr<const Options>> others_; ///< by backend: who was first
};

} // namespace berth::server::http

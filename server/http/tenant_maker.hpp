#pragma once

#include "server/application.hpp"
#include "server/http/caller.hpp"
#include "server/http/serve_http.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace berth::server::http {

/// Makes what serves one session of one caller, by the settings of the server and of that caller.
/// Thread-safe.
class TenantMaker {
  public:
    /// `observers`: see Application.
    explicit TenantMaker(const Making& making, Observers observers = {})
        : making_(making), observers_(std::move(observers))
    {
    }

    /// Throws Error.
    [[nodiscard]] std::unique_ptr<Application> make(const Caller& caller,
                                                    const std::string& session);

    /// Throws Error(invalid_argument) for a caller whose sessions could not be made, such as one
    /// with a profile that there is not.
    void check(const Caller& caller) const;

    /// The server's own options, for who only looks, with that backend. Throws
    /// Error(invalid_argument).
    [[nodiscard]] Options options_on(const std::string& backend) const;

    [[nodiscard]] std::shared_ptr<sandbox::Backend> backend_of(const Options& options);

  private:
    [[nodiscard]] Given given_of(const Caller& caller, const std::string& session) const;

    const Making& making_;
    const Observers observers_;
    std::mutex mutex_; ///< guards backends_
    std::map<std::string, std::shared_ptr<sandbox::Backend>> backends_;
};

} // namespace berth::server::http

#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/wait_bound.hpp"
#include "sandbox/e2b/api_json.hpp"
#include "sandbox/e2b/api_types.hpp"
#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/retry.hpp"
#include "sandbox/e2b/settings.hpp"
#include "sandbox/e2b/status_error.hpp"
#include "sandbox/right.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace berth::e2b {

/// How the client waits; tests do not.
struct Pacing {
    std::function<double()> random{}; ///< from 0 to 1; nothing: a generator of its own
    /// Waits as long, or until the stop request; nothing: for real.
    std::function<void(std::chrono::milliseconds, const std::stop_token&)> rest{};
    std::chrono::milliseconds patience{75'000}; ///< for one answer; E2B itself gives up after 70 s
};

/// Older servers name a sandbox ID-CLIENT; both are the same one.
[[nodiscard]] constexpr std::string_view bare_id(std::string_view id)
{
    return id.substr(0, id.find('-'));
}

/// The control plane of E2B. Each call is one request, repeated where there is time for it before
/// the deadline (sandbox/e2b/retry.hpp): a create only where the outcome of the last is known; the
/// rest also where nobody answered, since done twice it is what it is done once. Thread-safe.
///
/// Throws HttpFailure without an answer, StatusError for one that is no success,
/// Error(backend_error) for one that is no answer. session_lost is what the control plane itself
/// says, with a 404.
class ApiClient {
  public:
    /// `http` lives longer.
    ApiClient(HttpClient& http, Settings settings, Pacing pacing = {});

    /// Asked again only where nothing was made for certain. Throws OutcomeUnknown where a sandbox
    /// may have been made that nobody knows of: after 5xx, no answer, or one without an id. Whoever
    /// gave it a nonce in its metadata finds it by list().
    [[nodiscard]] Box create(const BoxRequest& request, const Deadline& deadline,
                             const std::stop_token& stop = {});

    /// Wakes it when it is paused, and extends its time to `timeout` from now; never shortens it.
    /// Throws backend_error when the answer is about another sandbox.
    [[nodiscard]] Connected connect(const std::string& id, std::chrono::seconds timeout,
                                    const Deadline& deadline, const std::stop_token& stop = {});

    /// `may`, of this and what follows, is asked before each attempt: they may take minutes.
    using Right = sandbox::Right;

    /// False: it was paused already; also where an earlier attempt, of which no answer came, has
    /// done it. E2B refuses a second pause (409) and leaves the sandbox as it is.
    bool pause(const std::string& id, const Deadline& deadline, const std::stop_token& stop = {},
               const Right& may = {});

    /// A paused one too. False: there was none, or an attempt without an answer has ended it.
    bool kill(const std::string& id, const Deadline& deadline, const std::stop_token& stop = {},
              const Right& may = {});

    /// From now, so it may shorten too. Of a running one only: session_lost for a paused one.
    void set_timeout(const std::string& id, std::chrono::seconds timeout, const Deadline& deadline,
                     const std::stop_token& stop = {});

    /// In place of all that was said before; of a paused one, for when it is awake.
    void set_network(const std::string& id, const BoxNetwork& network, const Deadline& deadline,
                     const std::stop_token& stop = {}, const Right& may = {});

    /// Neither wakes it nor extends its time.
    [[nodiscard]] BoxInfo info(const std::string& id, const Deadline& deadline,
                               const std::stop_token& stop = {});

    /// Running and paused ones whose metadata has all of `metadata`, in all pages; of a server of
    /// before v2 the running ones alone. Throws backend_error for more than 10,000, and for pages
    /// that do not end.
    [[nodiscard]] std::vector<BoxInfo> list(const Metadata& metadata, const Deadline& deadline,
                                            const std::stop_token& stop = {});

    /// It has been found not to know the second version of paths.
    [[nodiscard]] bool is_old() const noexcept { return old_server_; }

  private:
    struct Call {
        std::string what; ///< for messages: "pause a sandbox"
        std::string method;
        std::string target;
        std::string body{};
        Repeating repeating = Repeating::safe;
        Right may{};
    };

    [[nodiscard]] HttpReply send(const Call& call, const Deadline& deadline,
                                 const std::stop_token& stop);
    [[nodiscard]] HttpReply send_once(const Call& call, const Deadline& deadline,
                                      const std::stop_token& stop);
    [[nodiscard]] std::optional<std::chrono::milliseconds>
    wait_after(const HttpReply& reply, Repeating repeating, unsigned failures) const;
    [[nodiscard]] std::optional<std::chrono::milliseconds>
    wait_after(const HttpFailure& failure, Repeating repeating, unsigned failures) const;
    /// As v2, and as v1 where the server does not know that of this call, which
    /// `old_server` keeps for the next; `version`: which it was.
    [[nodiscard]] HttpReply send_either(const Call& newer, const Call& older,
                                        std::atomic<bool>& old_server, ApiVersion& version,
                                        const Deadline& deadline, const std::stop_token& stop);
    /// False: no time is left, or was asked for. `told`: E2B has said how long. Throws HttpFailure
    /// after a stop request.
    [[nodiscard]] bool rest(std::optional<std::chrono::milliseconds> time, bool told,
                            const Call& call, const WaitBound::Wait& bound) const;
    [[nodiscard]] StatusError error_of(const Call& call, const HttpReply& reply,
                                       bool of_sandbox) const;

    HttpClient& http_;
    const Settings settings_;
    Pacing pacing_;
    // Whether the server knows no v2. Of the list it is older than of create and connect, which
    // came together, and the list of v1 has no paused ones: so each is found out by itself.
    std::atomic<bool> old_server_ = false;
    std::atomic<bool> old_list_ = false;
};

} // namespace berth::e2b

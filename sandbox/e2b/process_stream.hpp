#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/e2b/envelope.hpp"
#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/process_messages.hpp"
#include "sandbox/e2b/status_error.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

namespace berth::e2b {

/// How long envd may be silent. It is asked for a sign of life every `ping`; 0 or less would make
/// it end itself, and with it everything in the sandbox that it knows of.
struct EnvdTimes {
    std::chrono::seconds ping{15};
    std::chrono::milliseconds silence{45'000};  ///< a stream that says nothing for so long is dead
    std::chrono::milliseconds patience{60'000}; ///< for the answer to a short call, for any
                                                ///< progress of a long one
};

/// The events of a process, on a connection of its own. Ends by itself when the process does and
/// nobody holds its stdout any more; ending it does nothing to the process. Whoever has one reads
/// it: a reader that stalls stalls the process. One thread reads; cut() is for any thread.
class ProcessStream {
  public:
    /// For EnvdClient.
    ProcessStream(HttpExchange exchange, Asked asked, EnvdTimes times);

    /// The next event that tells something; nothing at the end of the stream. Throws
    /// - StatusError where envd refused, or the proxies before it: the process was not started if
    ///   nothing has come before;
    /// - HttpFailure: `expired` at the deadline and `cancelled` leave the stream as it is; `broken`
    ///   when it ended in the middle, or was silent for too long;
    /// - Error(backend_error) for what is no stream of events.
    [[nodiscard]] std::optional<ProcessEvent> next(const Deadline& deadline,
                                                   const std::stop_token& stop = {});

    /// Ends the connection; next() returns at once, with `cut`.
    void cut() noexcept { exchange_.cut(); }

  private:
    void take_head(const Deadline& deadline, const std::stop_token& stop);
    [[nodiscard]] bool receive(const Deadline& deadline, const std::stop_token& stop);
    [[nodiscard]] std::optional<Envelope> envelope();
    void finish(const Deadline& deadline, const std::stop_token& stop);
    [[nodiscard]] HttpFailure broken(const std::string& why) const;
    [[noreturn]] void fail(const HttpFailure& failure);

    HttpExchange exchange_;
    Asked asked_;
    EnvdTimes times_;
    EnvelopeReader reader_;
    Deadline silence_; ///< begins anew with each byte
    bool has_head_ = false;
    bool ended_ = false;
};

} // namespace berth::e2b

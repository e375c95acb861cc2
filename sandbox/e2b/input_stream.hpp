#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/process_messages.hpp"
#include "sandbox/e2b/process_stream.hpp"
#include "sandbox/e2b/status_error.hpp"

#include <stop_token>
#include <string_view>

namespace berth::e2b {

/// Bytes for the stdin of a process, as one long request. One that is cut leaves whole pieces
/// there and stdin open; the process is told nothing. Nothing may be sent again after a failure:
/// it may have arrived. One thread sends; cut() is for any thread.
class InputStream {
  public:
    /// For EnvdClient.
    InputStream(HttpExchange exchange, Asked asked, EnvdTimes times, Pid pid);

    /// All of it, in pieces of 256 KiB. Waits while the process does not read. Throws HttpFailure;
    /// `expired` at the deadline, or when nothing moved for a minute. Throws as finish() where envd
    /// has answered already.
    void send(std::string_view bytes, const Deadline& deadline, const std::stop_token& stop = {});

    /// Ends the request and waits until envd has given all of it to the process. Stdin stays open:
    /// see EnvdClient::close_stdin(). Throws StatusError where envd refused it, and HttpFailure.
    void finish(const Deadline& deadline, const std::stop_token& stop = {});

    void cut() noexcept { exchange_.cut(); }

    /// As finish(), but waits for nothing.
    void end() noexcept { exchange_.finish(); }

    /// After end(): whether it is known by now that not all of it has arrived. For any thread.
    [[nodiscard]] bool was_lost();

  private:
    void put(std::string_view message, const Deadline& deadline, const std::stop_token& stop);
    void take_answer(const Deadline& deadline, const std::stop_token& stop);
    [[nodiscard]] HttpFailure broken(const std::string& why) const;

    HttpExchange exchange_;
    Asked asked_;
    EnvdTimes times_;
    Pid pid_;
    bool begun_ = false;
};

} // namespace berth::e2b

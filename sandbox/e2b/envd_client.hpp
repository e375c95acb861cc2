#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/input_stream.hpp"
#include "sandbox/e2b/process_messages.hpp"
#include "sandbox/e2b/process_stream.hpp"
#include "sandbox/e2b/status_error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace berth::e2b {

/// How one sandbox is reached. Both headers of the routing are sent whatever the endpoint is.
struct EnvdAddress {
    Endpoint endpoint;
    std::string sandbox_id;
    std::string token;   ///< never in a log or a message
    std::string version; ///< of envd; empty: not known, and taken for a new one
};

/// The envd of one sandbox, by the JSON form of the Connect protocol and its calls for files. Each
/// call is one request, which is never sent twice. Thread-safe.
///
/// Throws HttpFailure without an answer, StatusError for a refusal, Error(backend_error) for what
/// is no answer of envd's. A StatusError of 502 says that the sandbox does not run: the control
/// plane knows why.
class EnvdClient {
  public:
    /// `http` lives longer.
    EnvdClient(HttpClient& http, EnvdAddress address, EnvdTimes times = {});

    /// Begins; the stream says what became of it. The arguments and the environment are in envd's
    /// log, which E2B has.
    [[nodiscard]] ProcessStream start(const ProcessStart& start);

    /// What a process says from now on; what it said before is gone.
    [[nodiscard]] ProcessStream connect(Pid pid);

    [[nodiscard]] std::vector<ProcessInfo> list(const Deadline& deadline,
                                                const std::stop_token& stop = {});

    /// Waits while the process does not read and its pipe is full. Must not be repeated: one that
    /// was given up arrives all the same, later. The bytes are in envd's log, which E2B has.
    void send_input(Pid pid, std::string_view bytes, const Deadline& deadline,
                    const std::stop_token& stop = {});

    /// As send_input() for any number of bytes, which are in no log.
    [[nodiscard]] InputStream stream_input(Pid pid);

    void close_stdin(Pid pid, const Deadline& deadline, const std::stop_token& stop = {});

    /// Of what the process said last some is lost.
    void send_signal(Pid pid, ProcessSignal signal, const Deadline& deadline,
                     const std::stop_token& stop = {});

    /// The next bytes, up to `size`; 0 at the end.
    using Source = std::function<std::size_t(char* data, std::size_t size)>;
    using Sink = std::function<void(std::string_view bytes)>;

    /// Writes a file, as root for `user` (empty: the template's): its folders are made, its content
    /// is replaced while it arrives, so what is cut off stays there as half a file. In memory is
    /// half a megabyte at most. No time is too long while something moves. Throws what `source`
    /// throws.
    void upload(const std::string& path, const std::string& user, const Source& source,
                const Deadline& deadline, const std::stop_token& stop = {});

    /// Reads a file, as root. `sink` gets pieces, and has had some when something is thrown; what
    /// it throws ends the download. Returns the size. Files of /proc come as empty ones.
    std::uint64_t download(const std::string& path, const std::string& user, const Sink& sink,
                           const Deadline& deadline, const std::stop_token& stop = {});

    /// Whether the sandbox answers: false for a 502. Not to be asked of one that may be paused,
    /// where the first request of any kind may wake it.
    [[nodiscard]] bool is_healthy(const Deadline& deadline, const std::stop_token& stop = {});

  private:
    [[nodiscard]] HttpRequest request(std::string method, std::string target,
                                      const std::string& type) const;
    [[nodiscard]] HttpRequest procedure(const std::string& name, const std::string& user,
                                        bool stream) const;
    [[nodiscard]] std::string call(const std::string& name, std::string message, std::string what,
                                   const Deadline& deadline, const std::stop_token& stop);
    [[nodiscard]] ProcessStream open_stream(const std::string& name, const std::string& message,
                                            const std::string& user, std::string what);
    [[nodiscard]] std::string files_target(const std::string& path, const std::string& user) const;
    [[nodiscard]] Asked asked(std::string what) const;
    [[nodiscard]] Deadline soon(const Deadline& deadline) const;
    [[nodiscard]] std::string user_of(const std::string& user) const;

    HttpClient& http_;
    const EnvdAddress address_;
    const EnvdTimes times_;
};

/// Whether envd's version is known and before another: both MAJOR.MINOR.PATCH.
[[nodiscard]] bool is_before(std::string_view version, std::string_view other);

} // namespace berth::e2b

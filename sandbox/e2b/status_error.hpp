#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/http.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::e2b {

/// A server answered, and it is no success.
class StatusError : public Error {
  public:
    /// `word`: of the Connect protocol ("not_found"); empty: it said none.
    StatusError(ErrorCode code, int status, std::string word, const std::string& message,
                std::string hint);

    /// Of HTTP; 200 for an error within a stream.
    [[nodiscard]] int status() const noexcept { return status_; }

    [[nodiscard]] const std::string& word() const noexcept { return word_; }

    /// The answer has the form that E2B's own servers give it, and not one of a proxy's on the way.
    [[nodiscard]] bool is_own() const noexcept { return own_; }

    void set_own(bool own) noexcept { own_ = own; }

    /// As envd, or a proxy before it, has asked.
    [[nodiscard]] std::optional<std::chrono::seconds> retry_after() const noexcept
    {
        return retry_after_;
    }

    void set_retry_after(std::optional<std::chrono::seconds> time) noexcept { retry_after_ = time; }

  private:
    int status_;
    std::string word_;
    bool own_ = false;
    std::optional<std::chrono::seconds> retry_after_;
};

/// It may have been done, or not, and cannot be asked again without risk: look for it.
class OutcomeUnknown : public Error {
  public:
    /// `late`: whoever was asked may still be at it: nobody has said that it failed.
    explicit OutcomeUnknown(const Error& cause, const std::string& message, std::string hint,
                            bool late);

    [[nodiscard]] bool is_late() const noexcept { return late_; }

  private:
    bool late_;
};

/// What was asked, for messages, and what must not be in one.
struct Asked {
    std::string what;                   ///< "create a sandbox"
    std::string where;                  ///< of whom: "https://api.e2b.app"
    std::vector<std::string> secrets{}; ///< a server may quote them; at least 8 bytes each
};

/// Whether the answer has the form that E2B's servers give to an error, and is no proxy's.
[[nodiscard]] bool is_own_answer(const HttpReply& reply);

/// Whether the control plane says that the sandbox is between two states, which passes.
[[nodiscard]] bool is_in_transition(const HttpReply& reply);

/// An answer of the control plane. A 404 in its own form is session_lost when `of_sandbox`, since
/// there it is the proof that the sandbox is gone, and sandbox_unavailable in another, since then
/// it is somebody's who knows no sandbox; else not_found.
[[nodiscard]] StatusError control_plane_error(const Asked& asked, const HttpReply& reply,
                                              bool of_sandbox);

/// An answer of envd, or of the proxies before it. A 502 is sandbox_unavailable, and says only that
/// the sandbox does not run: paused, ended, or never there.
[[nodiscard]] StatusError envd_error(const Asked& asked, const HttpReply& reply);

/// Whether somebody may have acted on a request that was answered so: whoever stands on the way and
/// gives up says nothing of what was done behind it. Not by E2B's own proxy, which has nobody to
/// pass it on to where the sandbox does not run.
[[nodiscard]] bool leaves_open(const StatusError& answer) noexcept;

/// The payload of the last envelope of a stream; nothing where it tells no error. Throws
/// Error(backend_error) where it is none.
[[nodiscard]] std::optional<StatusError> stream_error(const Asked& asked, std::string_view payload);

/// Retry-After of an answer: a whole number, or a date, of which its own Date is the clock (a proxy
/// on the way may write one). Nothing for anything else, and for more than a day.
[[nodiscard]] std::optional<std::chrono::seconds> retry_after_of(const HttpHead& head);

/// A text of a server's, fit for a message: on one line, at most 300 bytes, no secret in it.
[[nodiscard]] std::string quotable(std::string_view text, const std::vector<std::string>& secrets);

} // namespace berth::e2b

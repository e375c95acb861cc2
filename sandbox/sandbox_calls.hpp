#pragma once

#include "sandbox/exchange.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/sandbox.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// What the files sandbox*.cpp share, and nobody else sees.

namespace berth::sandbox {

struct Sandbox::Borrowed {
    std::unique_ptr<GuestConnection> connection;
    bool used = false; ///< by an earlier call: the guest may have closed it since
};

struct Sandbox::Answered {
    Answer answer;
    std::unique_ptr<GuestConnection> connection; ///< null when it is of no further use
};

/// Of a call on whose answer the guest may await a word.
struct Sandbox::Kept {
    std::unique_ptr<GuestConnection> connection; ///< null where none is kept
    std::string call;                            ///< its name
};

/// The connection broke before the answer was whole.
class Sandbox::Broken : public Error {
  public:
    Broken(const Error& error, bool begun, bool repeats, bool unanswered = false)
        : Error(error), begun_(begun), repeats_(repeats), unanswered_(unanswered)
    {
    }

    /// The guest may have had the whole request.
    [[nodiscard]] bool begun() const noexcept { return begun_; }

    /// And can be asked again.
    [[nodiscard]] bool repeats() const noexcept { return repeats_; }

    /// See Unanswered.
    [[nodiscard]] bool is_unanswered() const noexcept { return unanswered_; }

  private:
    bool begun_;
    bool repeats_;
    bool unanswered_;
};

/// Of a call. It begins with the id of the request that this thread is at, so that what a guest
/// keeps of it can be found by what the log says.
[[nodiscard]] std::string new_call_name();

/// One question on a connection of its own.
[[nodiscard]] Answer ask_on(GuestConnection& connection, protocol::Operation operation,
                            const Deadline& deadline, std::string_view request = {});
[[nodiscard]] protocol::InfoReply info_in(const Answer& answer);

/// What works in the machine, for as long as this is there.
class Sandbox::Use {
  public:
    explicit Use(Sandbox& of) noexcept : of_(of) { ++of_.uses_; }

    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

  private:
    Sandbox& of_;
};

/// A token that is refused is that of a machine whose place another has taken.
[[nodiscard]] inline bool tells_of_a_loss(const Error& error) noexcept
{
    return error.code() == ErrorCode::session_lost ||
           error.code() == ErrorCode::authentication_required;
}

/// How long to wait before a call is sent again that was sent so often; nothing: it is not. A
/// connection that broke may have been an accident, three in a row are none. What stands on the
/// way and answers for the guest (`unanswered`) may do so for some seconds.
[[nodiscard]] std::optional<std::chrono::milliseconds> pause_before(std::size_t repetition,
                                                                    bool unanswered) noexcept;

} // namespace berth::sandbox

#pragma once

#include "sandbox/exchange.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/sandbox.hpp"

#include <memory>
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
    Broken(const Error& error, bool begun, bool repeats)
        : Error(error), begun_(begun), repeats_(repeats)
    {
    }

    /// The guest may have had the whole request.
    [[nodiscard]] bool begun() const noexcept { return begun_; }

    /// And can be asked again.
    [[nodiscard]] bool repeats() const noexcept { return repeats_; }

  private:
    bool begun_;
    bool repeats_;
};

/// In a sentence about what became of it.
[[nodiscard]] std::string_view name_of(protocol::Operation operation) noexcept;

} // namespace berth::sandbox

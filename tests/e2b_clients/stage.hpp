#pragma once

#include "sandbox/e2b/api_client.hpp"
#include "sandbox/e2b/envd_client.hpp"
#include "tests/e2b_clients/emulator.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::tests {

/// Long enough for a loaded machine: what a test waits for comes, or it fails.
inline Deadline in_time()
{
    return Deadline::after(std::chrono::minutes(2));
}

/// Both clients before an emulator, and the books at the end: whatever went wrong in a test, there
/// is no box that it does not know of, and none that its client could not end.
class Stage {
  public:
    Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    /// Ends the boxes that are known, and compares.
    ~Stage();

    /// Made by the client, and known.
    e2b::Box create(const e2b::BoxRequest& request = {});

    /// A box that came to be in another way.
    void know(const std::string& id) { known_.insert(id); }

    /// Boxes that the books have and the test does not know.
    [[nodiscard]] std::set<std::string> unknown();

    [[nodiscard]] e2b::EnvdClient envd(const e2b::Box& box, e2b::EnvdTimes times = {});

    E2bEmulator emulator;
    e2b::HttpClient http{e2b::HttpSettings{}};
    std::vector<std::chrono::milliseconds> waits; ///< that the client would have made
    e2b::ApiClient api;

  private:
    void end_all();

    std::set<std::string> known_;
    std::set<std::string> before_; ///< boxes of other tests
    nlohmann::json usual_;
};

/// With one box and its envd.
struct Scene : Stage {
    explicit Scene(const e2b::BoxRequest& request = {}) : box(create(request)), client(envd(box)) {}

    e2b::Box box;
    e2b::EnvdClient client;
};

/// What came of a process.
struct Outcome {
    e2b::Pid pid = 0;
    std::string out;
    std::string error;
    std::optional<e2b::ProcessEnded> ended{}; ///< nothing: its stream ended without
};

/// To the end of its stream.
[[nodiscard]] Outcome outcome_of(e2b::ProcessStream& stream, const Deadline& deadline = in_time());

/// Until it is there, which is the first event.
[[nodiscard]] e2b::Pid pid_of(e2b::ProcessStream& stream);

/// That much of its stdout, or more.
[[nodiscard]] std::string output_of(e2b::ProcessStream& stream, std::size_t size);

/// A command line of a shell, without stdin.
[[nodiscard]] e2b::ProcessStart shell(std::string line);

/// The same, with a stdin that it may read.
[[nodiscard]] e2b::ProcessStart reading(std::string line);

/// All of one.
[[nodiscard]] Outcome run(e2b::EnvdClient& envd, std::string line);

/// Of what went wrong. Nothing: nothing did.
struct Wrong {
    std::string kind = "nothing"; ///< "status 502", "broken", "expired", "unknown outcome", ...
    std::optional<ErrorCode> code{};
    std::string message{};
    bool retryable = false;
    bool unsent = false;
};

template <class Action>
Wrong wrong_of(Action&& action)
{
    const auto of = [](std::string kind, const Error& error, bool unsent = false) {
        return Wrong{.kind = std::move(kind),
                     .code = error.code(),
                     .message = error.what(),
                     .retryable = error.retryable(),
                     .unsent = unsent};
    };
    try {
        action();
    } catch (const e2b::StatusError& error) {
        return of("status " + std::to_string(error.status()), error);
    } catch (const e2b::OutcomeUnknown& error) {
        return of("unknown outcome", error);
    } catch (const e2b::HttpFailure& error) {
        constexpr std::array causes = {"unconnected", "broken", "expired",
                                       "cancelled",   "cut",    "too large"};
        return of(causes.at(static_cast<std::size_t>(error.cause())), error, error.unsent());
    } catch (const Error& error) {
        return of("error", error);
    }
    return {};
}

} // namespace berth::tests

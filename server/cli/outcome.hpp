#pragma once

#include "sandbox/base/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth::server::cli {

/// What came of a command about sessions. Made once, and told by the command line and by the
/// operator's API (server/http/operator_api.hpp), so that programs read the same from both.
struct Outcome {
    std::shared_ptr<nlohmann::json> data; ///< for programs; never null
    std::string text;      ///< for people, of what there is or was done; may be empty
    std::string complaint; ///< for people, of what was not; may be empty
    std::string remedy;
    std::optional<ErrorCode> failure; ///< it was not done, or not all of it
};

/// For Outcome::data.
[[nodiscard]] std::shared_ptr<nlohmann::json> boxed(nlohmann::json&& data);

/// What a program is told where nothing was done. `retry_after`: in seconds; 0: nobody knows.
[[nodiscard]] nlohmann::json refusal_data(std::string_view code, const std::string& reason,
                                          const std::string& remedy, unsigned retry_after);

/// The same of an error, which is why nothing was done.
[[nodiscard]] Outcome failed(const Error& error);

/// Prints it, complaints on stderr. Returns the exit status.
[[nodiscard]] int tell(const Outcome& outcome, bool as_json);

} // namespace berth::server::cli

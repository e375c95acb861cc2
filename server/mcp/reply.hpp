#pragma once

#include "server/mcp/era.hpp"
#include "tools/dialect.hpp"

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace berth::mcp {

/// What every result of a server says beside its own content.
struct Identity {
    std::string version; ///< of berth
    bool structured_content = false;
    const tools::Dialect* dialect =
        nullptr; ///< of hints that an error does not bring; null: berth's own
};

/// Opens a result object of either era, without the closing brace: `{"resultType":...,"_meta":{`.
/// Members of `_meta` may be appended; then close with `}` and go on with `,"key":...}`.
[[nodiscard]] std::string begin_result(Era era, const Identity& identity);

/// The result of tools/call for a tool that did its work. `bodies` names the members of the data
/// that its text carries already. Each line of `told` becomes a notice.
[[nodiscard]] std::string tool_result(tools::Result result, const std::vector<std::string>& told,
                                      std::string_view bodies, Era era, const Identity& identity);

/// The one map from an exception to what a caller of a tool is told: a result with `isError`, at
/// least two lines for the model, of which the last says what to do (its hint, or that of its
/// code), and `_meta["berth/error"]` for programs.
[[nodiscard]] std::string tool_failure(const std::exception& failure,
                                       const std::vector<std::string>& told, Era era,
                                       const Identity& identity);

} // namespace berth::mcp

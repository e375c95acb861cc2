#pragma once

#include "sandbox/base/error.hpp"
#include "server/mcp/era.hpp"
#include "server/rpc/error.hpp"
#include "tools/dialect.hpp"

#include <cstdint>
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

/// Of the call that failed.
struct Tried {
    std::string_view tool = {}; ///< own_name(); empty where it is not known
    /// How often in a row it has failed like this, as far as that is worth a word: then a last line
    /// says so and what to do instead, and programs find it as `repeated`. 0: it is not.
    std::uint64_t times = 0;
};

/// The key of a modern result's `_meta` that says whose it is.
inline constexpr std::string_view server_info_key = "io.modelcontextprotocol/serverInfo";

/// Opens a result object of either era, without the closing brace: `{"resultType":...,"_meta":{`.
/// Members of `_meta` may be appended; then close with `}` and go on with `,"key":...}`. `type`: of
/// 2026-07-28, the older revisions have one alone.
[[nodiscard]] std::string begin_result(Era era, const Identity& identity,
                                       std::string_view type = "complete");

/// The result of tools/call for a tool that did its work. `bodies` names the members of the data
/// that its text carries already. Each line of `told` becomes a notice.
[[nodiscard]] std::string tool_result(tools::Result result, const std::vector<std::string>& told,
                                      std::string_view bodies, Era era, const Identity& identity);

/// The one map from an exception to what a caller of a tool is told: a result with `isError`, at
/// least two lines for the model, of which the second says what to do (its hint, or that of its
/// code), and `_meta["berth/error"]` for programs (schemas/error.json).
[[nodiscard]] std::string tool_failure(const std::exception& failure,
                                       const std::vector<std::string>& told, Era era,
                                       const Identity& identity, Tried tried = {});

/// The same map for methods that are no tool: an error of the protocol, whose `data` has the code
/// and the hint.
[[nodiscard]] rpc::ProtocolError method_failure(const Error& error);

/// Of resources/read, whose `data` names the resource too: each era has another code for one that
/// there is not.
[[nodiscard]] rpc::ProtocolError resource_failure(const Error& error, const std::string& uri,
                                                  Era era);

/// What a caller is told whose command has ended in the same way so many times, one right after the
/// other. It forbids nothing: to ask once more whether a server is up may be right.
[[nodiscard]] std::string repetition_notice(std::uint64_t times);

} // namespace berth::mcp

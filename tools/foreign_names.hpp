#pragma once

#include "tools/dialect.hpp"

#include <string_view>

namespace berth::tools {

/// The tool of all_tools() for the name under which other systems have one that does the same,
/// however it is written ("KillShell", "kill_shell"): a model that was trained on those calls them
/// here too. Empty: there is none, or it is near enough to ours for nearest() ("BashOutput").
/// `dialect`: the one that is served, in which another tool may do it; null: berth's own.
[[nodiscard]] std::string_view tool_for_foreign_name(std::string_view name,
                                                     const Dialect* dialect = nullptr);

} // namespace berth::tools

#pragma once

#include <string_view>

namespace berth::tools {

/// The tool of all_tools() for the name under which other systems have one that does the same,
/// however it is written ("KillShell", "kill_shell"): a model that was trained on those calls them
/// here too. Empty: there is none, or it is near enough to ours for nearest() ("BashOutput").
[[nodiscard]] std::string_view tool_for_foreign_name(std::string_view name);

} // namespace berth::tools

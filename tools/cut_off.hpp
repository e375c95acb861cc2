#pragma once

#include "tools/tool.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

// Calls of which only the beginning arrived. A model that writes more than its client takes sends
// half a document; clients then hand on what is left of it in several ways.

namespace berth::tools {

/// How to send what was too long for one call, in berth's own names; `tool` is one of all_tools(),
/// or empty where it is not known.
[[nodiscard]] std::string_view advice_for_pieces(std::string_view tool);

/// Throws Error(invalid_argument), with the details of CutOff where it is one, for arguments that
/// can only be what is left of others: none, where the tool needs some; a string in their place; or
/// a wrapper around one, which some clients make of what they could not parse ({"_raw": "{\"path\":
/// \"a"}). Nothing of such a call is done, not even where the string holds whole arguments: that it
/// came so means that something on the way did not understand it.
void refuse_cut_off(const Entry& tool, const nlohmann::json& arguments);

} // namespace berth::tools

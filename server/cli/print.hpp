#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server::cli {

/// Gives standard streams that are closed a place of their own. Before anything else is opened: the
/// next file would have their number, be taken for them, and what is printed would land in it.
void hold_standard_streams();

/// Whether standard output was closed, or cannot be written to, when the program began.
[[nodiscard]] bool output_is_closed();

/// To standard output.
void print(std::string_view text);
/// What deceives in its strings (utf8::is_deceptive) is escaped.
void print_json(const nlohmann::json& value);

/// Whether something that was printed is lost, as on a full disk; then it is told, on stderr. A
/// reader that went away has lost nothing.
[[nodiscard]] bool tell_lost_output();

/// To stderr: "berth: what went wrong", and what to do on a line of its own.
void complain(std::string_view message, std::string_view hint = {});

/// Text of a sandbox, fit for one line of a terminal: it cannot move the cursor, and what is long
/// is cut: after `longest` bytes.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t longest = 160);

[[nodiscard]] std::string or_dash(const std::string& text);

/// Rows as columns, each as wide as its widest cell; the last one is not padded. What is in a cell
/// cannot leave its line.
[[nodiscard]] std::string table(std::vector<std::vector<std::string>> rows);

} // namespace berth::server::cli

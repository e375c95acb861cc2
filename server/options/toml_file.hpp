#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth::server {

/// A value as it was written, and where.
struct RawValue {
    std::vector<std::string> items; ///< one, or those of a list
    std::string origin;             ///< "flag --network", "/etc/berth.toml:7", "default" ...
};

/// Key -> value of a TOML file, tables flattened: [exec] timeout becomes exec.timeout, and a table
/// without anything in it its name and a dot, without a value.
/// Throws Error(invalid_argument) naming file and line: bad syntax, or a value that is neither
/// text, number, boolean nor a list of texts.
[[nodiscard]] std::map<std::string, RawValue> read_toml(const std::string& path);

} // namespace berth::server

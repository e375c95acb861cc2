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

/// By key. There may be a password in it.
using RawValues = std::map<std::string, RawValue>;

/// What a file is for, as errors of it say.
struct TomlKind {
    const char* name;   ///< "the settings file"
    const char* naming; ///< how one is named
    const char* form;   ///< what is in it
};

inline constexpr TomlKind settings_kind{
    .name = "the settings file",
    .naming = "--config or BERTH_CONFIG names a TOML file that can be read; without them berth "
              "looks in its usual places.",
    .form = "The file must be TOML, where text needs quotes: network = \"none\". `berth serve "
            "--help` lists the settings."};

/// Key -> value of a TOML file, tables flattened: [exec] timeout becomes exec.timeout, and a table
/// without anything in it its name and a dot, without a value.
/// Throws Error(invalid_argument) naming file and line: bad syntax, or a value that is neither
/// text, number, boolean nor a list of texts.
[[nodiscard]] RawValues read_toml(const std::string& path, const TomlKind& kind = settings_kind);

} // namespace berth::server

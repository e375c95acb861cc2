#pragma once

#include "sandbox/base/error.hpp"
#include "server/options/options.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <stdlib.h>

namespace berth::server::tests {

/// A home, a settings file, variables and flags, of which options are made.
struct Bench {
    Bench()
    {
        std::string pattern = "/tmp/berth-options-XXXXXX";
        directory = ::mkdtemp(pattern.data());
        variables["HOME"] = directory;
        given.values["state_dir"] = {.items = {directory + "/state"}, .origin = "flag --state-dir"};
    }

    ~Bench()
    {
        std::error_code error;
        std::filesystem::remove_all(directory, error);
    }

    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    void file(const std::string& text)
    {
        given.config_file = directory + "/berth.toml";
        std::ofstream(given.config_file) << text;
    }

    Options make() const
    {
        return make_options(given, [this](const std::string& name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
        });
    }

    /// What the refusal says; empty when nothing is refused.
    std::string refusal() const
    {
        try {
            static_cast<void>(make());
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            return error.what() + std::string("\n") + error.hint();
        }
        return {};
    }

    std::string directory;
    std::map<std::string, std::string> variables;
    Given given;
};

inline bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

/// "VALUE from ORIGIN", as `berth config` shows them.
inline std::string origin(const Options& options, const std::string& key)
{
    const auto found = std::find_if(options.settings.begin(), options.settings.end(),
                                    [&](const Setting& setting) { return setting.key == key; });
    return found == options.settings.end() ? "?" : found->value + " from " + found->origin;
}

} // namespace berth::server::tests

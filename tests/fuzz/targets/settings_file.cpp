// The settings file, and what is made of it.

#include "sandbox/base/error.hpp"
#include "server/options/options.hpp"
#include "tests/fuzz/memory_file.hpp"

#include <optional>
#include <string>

BERTH_FUZZ_TARGET(settings_file)
{
    const berth::fuzz::MemoryFile file(input);
    const auto environment = [](const std::string& name) -> std::optional<std::string> {
        return name == "HOME" ? std::optional<std::string>("/nonexistent") : std::nullopt;
    };
    berth::server::Given given;
    given.config_file = file.path();
    try {
        (void)berth::server::read_toml(file.path());
        (void)berth::server::make_options(given, environment);
    } catch (const berth::Error& error) {
        berth::fuzz::require(error.code() == berth::ErrorCode::invalid_argument,
                             "a setting is wrong");
    }
}

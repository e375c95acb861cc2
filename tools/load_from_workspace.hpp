#pragma once

#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct LoadFromWorkspace {
    static constexpr std::string_view name = "load_from_workspace";
    static constexpr std::string_view title = "Load files from the workspace";
    static constexpr std::string_view bodies{};
    static constexpr Annotations annotations{.idempotent = true};

    struct Args {
        std::string workspace_path;
        std::string sandbox_path; ///< empty: the default
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);
};

} // namespace berth::tools

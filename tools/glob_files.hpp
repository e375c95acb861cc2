#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct GlobFiles {
    static constexpr std::string_view name = "glob_files";
    static constexpr std::string_view title = "Find files by name";
    static constexpr std::string_view bodies = "paths";
    static constexpr Annotations annotations{
        .read_only = true, .destructive = false, .idempotent = true};

    struct Args {
        std::string pattern;
        std::string path;
        std::optional<std::int64_t> limit;
        bool respect_ignore = false;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    [[nodiscard]] static protocol::GlobRequest request(const Args& args, const Settings& settings);
    [[nodiscard]] static Result render(const Args& args, const protocol::GlobReply& reply,
                                       const Settings& settings);
};

} // namespace berth::tools

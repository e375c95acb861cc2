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

struct ReadFile {
    static constexpr std::string_view name = "read_file";
    static constexpr std::string_view title = "Read a file";
    static constexpr std::string_view bodies = "content entries";
    static constexpr Annotations annotations{
        .read_only = true, .destructive = false, .idempotent = true};

    struct Args {
        std::string path;
        std::int64_t offset = 0;
        std::optional<std::int64_t> limit;
        bool line_numbers = true;
        bool base64 = false;
        bool raw = false;   ///< nothing is converted: a notebook is its lines
        bool pages = false; ///< offset and limit were given as pages
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    [[nodiscard]] static protocol::ReadFileRequest request(const Args& args,
                                                           const Settings& settings);
    [[nodiscard]] static Result render(const Args& args, protocol::ReadFileReply reply,
                                       const Settings& settings,
                                       const std::string& picture_advice = {});
};

} // namespace berth::tools

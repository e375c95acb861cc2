#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct WriteFile {
    static constexpr std::string_view name = "write_file";
    static constexpr std::string_view title = "Write a file";
    static constexpr std::string_view bodies{};
    static constexpr Annotations annotations{};

    struct Args {
        std::string path;
        std::string content;
        protocol::WriteMode mode = protocol::WriteMode::overwrite;
        bool base64 = false;
        std::string if_sha256;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    /// Throws Error(invalid_argument) for content that is not base64 though it should be.
    [[nodiscard]] static protocol::WriteFileRequest request(const Args& args);
    [[nodiscard]] static Result render(const Args& args, const protocol::WriteFileReply& reply);
};

} // namespace berth::tools

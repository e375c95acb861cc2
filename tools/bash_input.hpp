#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct BashInput {
    static constexpr std::string_view name = "bash_input";
    static constexpr std::string_view title = "Write to a job";
    static constexpr std::string_view bodies{};
    static constexpr Annotations annotations{.open_world = true};

    struct Args {
        std::string job_id;
        std::string input;
        bool close = false;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    /// Throws Error(invalid_argument).
    [[nodiscard]] static protocol::JobInputRequest request(const Args& args,
                                                           const Settings& settings);
    [[nodiscard]] static Result render(const Args& args, const protocol::JobInputReply& reply);
};

} // namespace berth::tools

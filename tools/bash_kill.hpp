#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct BashKill {
    static constexpr std::string_view name = "bash_kill";
    static constexpr std::string_view title = "End a job";
    static constexpr std::string_view bodies{};
    static constexpr Annotations annotations{.idempotent = true};

    struct Args {
        std::string job_id;
        int signal = 0;
        std::int64_t grace = 2; ///< seconds
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    [[nodiscard]] static protocol::JobKillRequest request(const Args& args,
                                                          const Settings& settings);
    [[nodiscard]] static Result render(const Args& args, const protocol::JobKillReply& reply);
};

} // namespace berth::tools

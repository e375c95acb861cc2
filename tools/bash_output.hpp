#pragma once

#include "sandbox/protocol/messages.hpp"
#include "tools/aliases.hpp"
#include "tools/tool.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::tools {

struct BashOutput {
    static constexpr std::string_view name = "bash_output";
    static constexpr std::string_view title = "Read a job's output";
    static constexpr std::string_view bodies = "stdout stderr";
    static constexpr Annotations annotations{
        .read_only = true, .destructive = false, .idempotent = true};

    struct Args {
        std::string job_id;
        std::string since;
        std::int64_t wait = 0; ///< seconds
        std::string filter;
    };

    [[nodiscard]] static std::span<const Alias> aliases();
    [[nodiscard]] static Args decode(const nlohmann::json& arguments);
    [[nodiscard]] static std::string describe(const Settings& settings, sandbox::Backend& backend);
    [[nodiscard]] static Result run(Context& context, const Args& args);

    [[nodiscard]] static protocol::JobOutputRequest request(const Args& args,
                                                            const Settings& settings);
    [[nodiscard]] static Result render(const Args& args, const protocol::JobOutputReply& reply,
                                       const Settings& settings);
};

} // namespace berth::tools

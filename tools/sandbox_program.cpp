#include "tools/sandbox_program.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/output_budget.hpp"
#include "tools/render.hpp"
#include "tools/sandbox_call.hpp"

#include <algorithm>
#include <utility>

namespace berth::tools {
namespace {

/// What is installed for the user is found on every backend.
constexpr std::string_view preamble = "export LC_ALL=C.UTF-8 PATH=$HOME/.local/bin:$PATH\n";

protocol::ExecuteRequest request_for(const SandboxScript& script, std::int64_t seconds)
{
    constexpr std::size_t id_bytes = 16;
    constexpr std::uint64_t milliseconds = 1000;
    protocol::ExecuteRequest request;
    request.id = random_hex(id_bytes);
    request.command = std::string(preamble) + std::string(script.text);
    request.timeout = static_cast<std::uint64_t>(seconds) * milliseconds;
    request.workdir = "/";
    request.environment = script.variables;
    request.on_exit = protocol::OnExit::kill;
    request.head_limit = script.most_output;
    request.sticky_cwd = false;
    return request;
}

std::string how_it_ended(const protocol::ExecuteReply& reply, std::int64_t seconds)
{
    switch (reply.fate) {
    case protocol::Fate::timed_out:
        return "stopped after " + std::to_string(seconds) + " s";
    case protocol::Fate::oom_killed:
        return "killed: out of memory";
    case protocol::Fate::signaled:
        return "killed by " + signal_name(reply.signal);
    case protocol::Fate::exited:
    case protocol::Fate::cancelled:
    case protocol::Fate::lost:
        break;
    }
    return "exit " + std::to_string(reply.exit_code);
}

std::string complaint_of(const protocol::ExecuteReply& reply, std::int64_t seconds)
{
    constexpr std::size_t shown = 200; // characters
    std::string_view text = reply.err.head;
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const auto line = text.substr(0, text.find('\n'));
    return how_it_ended(reply, seconds) + (line.empty() ? "" : ": ") +
           visible(prefix_characters(line, shown));
}

} // namespace

std::int64_t script_seconds(const Settings& settings)
{
    constexpr std::int64_t most = 20;
    return std::min<std::int64_t>(most, settings.exec_max_timeout.count());
}

ScriptOutput run_script(Context& context, const SandboxScript& script)
{
    const auto seconds = script_seconds(context.settings);
    const auto request = request_for(script, seconds);
    auto reply = with_sandbox(
        context, [&](sandbox::Sandbox& sandbox) { return sandbox.execute(request, context.stop); });
    if (!reply.notice.empty()) {
        context.told.notices.push_back(reply.notice);
    }
    if (reply.fate == protocol::Fate::cancelled) {
        throw Error(ErrorCode::cancelled, "the call was cancelled",
                    "call again if it is still wanted");
    }
    ScriptOutput output;
    output.exit_code = reply.exit_code;
    output.timed_out = reply.fate == protocol::Fate::timed_out;
    output.complaint = complaint_of(reply, seconds);
    output.out = std::move(reply.out.head);
    return output;
}

} // namespace berth::tools

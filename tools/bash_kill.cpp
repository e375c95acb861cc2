#include "tools/bash_kill.hpp"

#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/job_call.hpp"
#include "tools/job_report.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <csignal>

namespace berth::tools {
namespace {

constexpr std::int64_t longest_grace = 60;

bool ends(int signal)
{
    return signal == SIGTERM || signal == SIGKILL;
}

} // namespace

std::span<const Alias> BashKill::aliases()
{
    static constexpr std::array table = {
        Alias{"bash_id", "job_id"},         Alias{"id", "job_id"},
        Alias{"shell_id", "job_id"},        Alias{"task_id", "job_id"},
        Alias{"signal", "CONT", "SIGCONT"}, Alias{"signal", "HUP", "SIGHUP"},
        Alias{"signal", "INT", "SIGINT"},   Alias{"signal", "KILL", "SIGKILL"},
        Alias{"signal", "QUIT", "SIGQUIT"}, Alias{"signal", "STOP", "SIGSTOP"},
        Alias{"signal", "TERM", "SIGTERM"}, Alias{"signal", "USR1", "SIGUSR1"},
        Alias{"signal", "USR2", "SIGUSR2"},
    };
    return table;
}

BashKill::Args BashKill::decode(const nlohmann::json& arguments)
{
    Args args;
    args.signal = SIGTERM;
    Decoder in(arguments);
    in.required("job_id", args.job_id, Length{1});
    in.choice("signal", args.signal,
              {{"TERM", SIGTERM},
               {"KILL", SIGKILL},
               {"INT", SIGINT},
               {"HUP", SIGHUP},
               {"QUIT", SIGQUIT},
               {"USR1", SIGUSR1},
               {"USR2", SIGUSR2},
               {"STOP", SIGSTOP},
               {"CONT", SIGCONT}},
              aliases());
    in.optional("grace", args.grace, Range{0, longest_grace});
    in.finish();
    return args;
}

std::string BashKill::describe(const Settings& /*settings*/, sandbox::Backend& /*backend*/)
{
    return "Ends a job and every process it started, also those that left its process group or "
           "session: all get TERM, and what still runs after grace seconds (2) is killed. It "
           "returns when nothing of the job is left. signal KILL ends it at once. Any other signal "
           "is only sent, to each of the job's processes, and the job goes on or not as it likes: "
           "INT is Ctrl-C, STOP and CONT pause it. A job that has ended already is no error. "
           "bash_output shows the output and the exit code afterwards.\n\n"
           "Example: {\"job_id\": \"job-1-7c3e\"}";
}

protocol::JobKillRequest BashKill::request(const Args& args, const Settings& /*settings*/)
{
    protocol::JobKillRequest request;
    request.job_id = args.job_id;
    request.signal = args.signal;
    request.grace = static_cast<std::uint64_t>(args.grace) * 1000;
    return request;
}

Result BashKill::run(Context& context, const Args& args)
{
    auto asked = request(args, context.settings);
    asked.acknowledge = true;
    sandbox::Receipt receipt;
    auto result = render(args, with_job(context, args.job_id, [&](sandbox::Sandbox& sandbox) {
                             return sandbox.job_kill(asked, context.stop, &receipt);
                         }));
    result.receipt = std::move(receipt);
    return result;
}

Result BashKill::render(const Args& args, const protocol::JobKillReply& reply)
{
    const std::string state = job_message(reply.state);
    std::string message = state;
    if (reply.signalled == 0) {
        message = (reply.state.running ? "No process to signal: " : "Nothing to end: ") + state;
    } else if (!ends(args.signal)) {
        message = signal_name(args.signal) + " was sent to " + counted(reply.signalled, "process") +
                  " of " + visible(reply.state.job_id);
    }
    auto data = job_data(reply.state);
    data["message"] = message;
    data["signalled"] = reply.signalled;
    return {(message == state ? "" : message + "\n") + status_line(job_parts(reply.state)),
            std::move(data)};
}

} // namespace berth::tools

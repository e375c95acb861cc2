#include "tools/bash_input.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "tools/decode.hpp"
#include "tools/job_call.hpp"
#include "tools/job_report.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace berth::tools {

std::span<const Alias> BashInput::aliases()
{
    static constexpr std::array table = {
        Alias{"bash_id", "job_id"}, Alias{"chars", "input"},     Alias{"data", "input"},
        Alias{"id", "job_id"},      Alias{"shell_id", "job_id"}, Alias{"stdin", "input"},
        Alias{"text", "input"},
    };
    return table;
}

BashInput::Args BashInput::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.required("job_id", args.job_id, Length{1});
    in.optional("input", args.input);
    in.optional("close", args.close);
    in.finish();
    return args;
}

std::string BashInput::describe(const Settings& /*settings*/, sandbox::Backend& /*backend*/)
{
    return "Writes to the standard input of a job that bash_exec started with background and "
           "stdin_open. The text is sent as it stands, at most 64 KiB at once: end a line with "
           "\\n. close sends an end of file behind it, for programs that read until then. There is "
           "no terminal, so control characters are only characters: bash_kill with signal INT is "
           "Ctrl-C. bash_output shows what the job answers.\n\n"
           "Example: {\"job_id\": \"job-1-7c3e\", \"input\": \"print(6 * 7)\\n\"}";
}

protocol::JobInputRequest BashInput::request(const Args& args, const Settings& /*settings*/)
{
    if (args.input.empty() && !args.close) {
        throw Error(ErrorCode::invalid_argument, "neither input nor close was given",
                    "Give the text to send as input, close: true for an end of file, or both.");
    }
    return {args.job_id, args.input, args.close};
}

Result BashInput::run(Context& context, const Args& args)
{
    const auto asked = request(args, context.settings);
    return render(args, with_job(context, args.job_id, [&](sandbox::Sandbox& sandbox) {
                      return sandbox.job_input(asked, context.stop);
                  }));
}

Result BashInput::render(const Args& args, const protocol::JobInputReply& reply)
{
    std::string message = "Sent " + human_bytes(reply.taken) + " to " +
                          visible(reply.state.job_id) + (args.close ? ", and an end of file" : "");
    if (reply.waiting > 0) {
        message += "; " + human_bytes(reply.waiting) + " wait until it reads on";
    }
    auto data = job_data(reply.state);
    data["message"] = message;
    data["bytes"] = reply.taken;
    data["waiting_bytes"] = reply.waiting;
    return {message + "\n" + status_line(job_parts(reply.state)), std::move(data)};
}

} // namespace berth::tools

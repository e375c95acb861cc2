#include "tools/bash_output.hpp"

#include "tools/decode.hpp"
#include "tools/job_call.hpp"
#include "tools/job_report.hpp"
#include "tools/output_budget.hpp"
#include "tools/progress.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace berth::tools {
namespace {

constexpr std::int64_t longest_wait = 60;

} // namespace

std::span<const Alias> BashOutput::aliases()
{
    static constexpr std::array table = {
        Alias{"bash_id", "job_id"}, Alias{"cursor", "since"},      Alias{"id", "job_id"},
        Alias{"regex", "filter"},   Alias{"shell_id", "job_id"},   Alias{"task_id", "job_id"},
        Alias{"timeout", "wait"},   Alias{"wait_seconds", "wait"},
    };
    return table;
}

BashOutput::Args BashOutput::decode(const nlohmann::json& arguments)
{
    Args args;
    Decoder in(arguments);
    in.required("job_id", args.job_id, Length{1});
    in.optional("since", args.since);
    in.optional("wait", args.wait, Range{0, longest_wait});
    in.optional("filter", args.filter);
    in.finish();
    return args;
}

std::string BashOutput::describe(const Settings& settings, sandbox::Backend& /*backend*/)
{
    return "Shows what a job (a command in the background) has printed, whether it runs, how it "
           "ended, and when it will be stopped. The job id comes from bash_exec; session_info "
           "lists "
           "all jobs, and the last that ended are remembered with their exit codes.\n\n"
           "The first line in brackets is the job's state, then comes standard output, then "
           "standard error below [stderr], then the call that shows what follows. since is the "
           "cursor which that line and every result have: only what was printed after it is shown, "
           "and the same cursor always gives the same text; without it everything from the "
           "beginning. wait (seconds, at most 60) waits for something new, and returns early once "
           "there is some or the job ends, so prefer it to sleeping. filter is a regular "
           "expression "
           "(RE2): only lines with a match are shown, and with wait it waits for one. Output "
           "above " +
           std::to_string(settings.output_budget) +
           " characters loses its middle, with what was left out counted and the file named.\n\n"
           "Example: {\"job_id\": \"job-1-7c3e\", \"since\": \"120-0\", \"wait\": 30}";
}

protocol::JobOutputRequest BashOutput::request(const Args& args, const Settings& settings)
{
    // As for bash_exec: enough for the budget where each character takes four bytes.
    constexpr std::uint64_t widest_character = 4;
    const std::uint64_t kept = settings.output_budget * widest_character;
    protocol::JobOutputRequest request;
    request.job_id = args.job_id;
    request.cursor = args.since;
    request.wait = static_cast<std::uint64_t>(args.wait) * 1000;
    request.filter = args.filter;
    request.control_characters = settings.control_characters;
    request.head_limit = kept * head_percent / 100;
    request.tail_limit = kept - request.head_limit;
    return request;
}

Result BashOutput::run(Context& context, const Args& args)
{
    auto asked = request(args, context.settings);
    asked.progress = asked.wait > 0 ? wanted_progress(context) : 0;
    asked.acknowledge = true;
    sandbox::Receipt receipt;
    const auto reply = with_job(context, args.job_id, [&](sandbox::Sandbox& sandbox) {
        return sandbox.job_output(asked, context.stop, show_printed(context), &receipt);
    });
    auto result = render(args, reply, context.settings);
    result.receipt = std::move(receipt);
    return result;
}

Result BashOutput::render(const Args& args, const protocol::JobOutputReply& reply,
                          const Settings& settings)
{
    const auto [out, err] = show_streams(reply.out.text, reply.err.text, settings.output_budget,
                                         settings.control_characters);
    return {job_output_text(reply, out, err, args.filter), job_output_data(reply, out, err)};
}

} // namespace berth::tools

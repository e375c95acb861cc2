#include "sandbox/base/cut_off.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/spelling.hpp"
#include "sandbox/base/visible.hpp"
#include "server/mcp/parameters.hpp"
#include "server/mcp/result_room.hpp"
#include "server/mcp/results.hpp"
#include "server/mcp/service.hpp"
#include "tools/call_identity.hpp"
#include "tools/cut_off.hpp"
#include "tools/foreign_names.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

// tools/call.

namespace berth::mcp {
namespace {

using nlohmann::json;

/// They may be left out.
const json& arguments_of(const json& params)
{
    static const json none = json::object();
    const auto given = params.find("arguments");
    return given == params.end() || given->is_null() ? none : *given;
}

CallReport begin_report(const tools::Entry& tool, const json& arguments)
{
    return {.tool = tool.name,
            .own_name = tools::own_name(tool),
            .outcome = "ok",
            .duration = {},
            .message = {},
            .entry = &tool,
            .arguments = &arguments};
}

/// How a command ended.
void take_end(CallReport& report, const json* data)
{
    if (data == nullptr || !data->is_object()) {
        return;
    }
    if (const auto code = data->find("exit_code"); code != data->end() && code->is_number()) {
        report.exit_code = code->get<int>();
    }
    report.fate = data->value("fate", "");
}

/// A result is known once its client has read it, and so is what `told` is of. What a call has
/// begun that the client cancelled at the last moment is ended: nobody will learn of it. `unread`:
/// takes the notices again of a result that nobody will read.
void sign(rpc::Call& call, bool sent, const std::shared_ptr<sandbox::Receipt>& receipt,
          tools::Told told, const std::function<void(tools::Told)>& unread)
{
    if (call.is_cancelled()) {
        receipt->decline();
        return;
    }
    if (!sent) {
        return;
    }
    auto read = told.receipts;
    if (*receipt) {
        read.push_back(receipt);
    }
    call.when_read(
        [read = std::move(read)] {
            for (const auto& each : read) {
                each->acknowledge();
            }
        },
        [unread, told = std::move(told)] { unread(told); });
}

/// Of a call that failed together with its machine, for whoever calls next where nobody reads its
/// answer: no guest has what became of it. Empty for other failures, which only its caller needs.
std::string unheard_notice(const tools::Entry& tool, const json& arguments,
                           const tools::Settings& settings, const std::exception& failure)
{
    const auto* error = dynamic_cast<const Error*>(&failure);
    if (error == nullptr ||
        (error->code() != ErrorCode::session_lost && error->code() != ErrorCode::backend_error)) {
        return {};
    }
    const auto own = tools::own_form(tool, arguments, settings);
    const auto command = own.find("command");
    const bool has_command = command != own.end() && command->is_string();
    if (error->code() == ErrorCode::backend_error && (has_command || error->retryable())) {
        return {}; // a guest that stands still, and goes on, keeps a command's outcome by itself
    }
    constexpr std::size_t shown = 80;
    const auto beginning = [](std::string_view text, std::size_t most) {
        const auto line = std::min(text.find('\n'), text.size());
        return visible_beginning(text, std::min(line, most), "…");
    };
    const std::string_view what = failure.what();
    return "the result of a call of " + std::string(tool.name) +
           (has_command ? " (`" + beginning(command->get_ref<const std::string&>(), shown) + "`)"
                        : "") +
           " reached nobody, since its client went away: " + beginning(what, what.size());
}

/// Gives the answer out. `unheard`: what is said with another one where nobody reads it, beside
/// what is `told`.
void give(rpc::Call& call, std::string reply, const std::shared_ptr<sandbox::Receipt>& receipt,
          tools::Told told, std::string unheard, const Configuration& configuration)
{
    const bool sent = call.reply(std::move(reply));
    if (!unheard.empty() && !call.is_cancelled()) {
        told.unheard.push_back(std::move(unheard));
    }
    if (!sent && !told.is_empty()) {
        configuration.untold(std::exchange(told, {}));
    }
    sign(call, sent, receipt, std::move(told), configuration.unread);
}

/// In the order in which a reply has them.
std::vector<std::string> all_notices(const tools::Told& told, std::vector<std::string> own)
{
    auto notices = told.notices;
    std::ranges::move(own, std::back_inserter(notices));
    return notices;
}

/// For a client that wants messages beside results.
void log_end(const RequestContext& context, const std::vector<std::string>& notices,
             const CallReport& report)
{
    constexpr std::string_view logger = "berth";
    for (const auto& notice : notices) {
        context.log(LogLevel::notice, logger, notice);
    }
    const auto how = std::string(report.tool) + ": " + std::string(report.outcome);
    if (report.outcome == "ok") {
        context.log(LogLevel::debug, logger, how);
    } else {
        context.log(LogLevel::warning, logger, how + ": " + std::string(report.message));
    }
}

Repetition::Digest outcome_of(const CallReport& failure)
{
    return sha256_hex(std::string(failure.outcome) + '\n' + std::string(failure.message));
}

/// Clients show the tools of a server as mcp__SERVER__TOOL and take that prefix off; a model that
/// writes it out for another client has it sent here.
std::string_view without_client_prefix(std::string_view name)
{
    constexpr std::string_view separator = "__";
    const auto last = name.rfind(separator);
    return name.starts_with("mcp__") ? name.substr(last + separator.size()) : name;
}

/// Whether somebody who wrote this may want something deleted, slips of the pen included.
bool says_delete(std::string_view name)
{
    constexpr std::array<std::string_view, 2> verbs{"delete", "remove"};
    std::string folded(name.substr(0, 64)); // no longer one is near to any tool's
    std::ranges::transform(folded, folded.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto verb = std::string_view(folded).substr(0, folded.find('_'));
    return std::ranges::any_of(verbs, [&](std::string_view each) {
        return folded.find(each) != std::string::npos || slips_between(verb, each) <= 1;
    });
}

[[noreturn]] void refuse_arguments()
{
    throw rpc::ProtocolError(rpc::invalid_params, "\"arguments\" must be an object");
}

} // namespace

const tools::Entry& Service::requested_tool(const json& params) const
{
    const auto& wanted = string_parameter(params, "name", "tools/call");
    const auto arguments = params.find("arguments");
    // A string is what some clients make of arguments that were cut off: its model is told, who
    // would not see an error of the protocol.
    if (arguments != params.end() && !arguments->is_null() && !arguments->is_object() &&
        !arguments->is_string()) {
        refuse_arguments();
    }
    if (const auto* tool = configuration_.catalog.find(wanted)) {
        return *tool;
    }
    const auto& catalog = configuration_.catalog;
    const auto left_out = catalog.left_out.find(wanted);
    if (left_out != catalog.left_out.end()) {
        throw rpc::ProtocolError(rpc::invalid_params,
                                 "Tool " + wanted + " is not served: " + left_out->second);
    }
    constexpr std::size_t shown = 128;
    throw rpc::ProtocolError(rpc::invalid_params,
                             "Unknown tool: " + visible_beginning(wanted, shown) +
                                 known_as(wanted));
}

std::string Service::known_as(const std::string& wanted) const
{
    const auto* dialect = configuration_.identity.dialect;
    const auto asked = without_client_prefix(wanted);
    for (const auto name : {asked, tools::tool_for_foreign_name(asked, dialect)}) {
        const auto here = tools::in_words_of(dialect, name);
        if (configuration_.catalog.find(here) != nullptr) {
            return "; here it is " + here;
        }
    }
    std::vector<std::string> names;
    names.reserve(configuration_.catalog.served.size());
    for (const auto* tool : configuration_.catalog.served) {
        // A model that is told so may do it, and what is deleted is gone.
        if (!tool->name.starts_with("delete_") || says_delete(asked)) {
            names.emplace_back(tool->name);
        }
    }
    const auto near = nearest(asked, names);
    return near.empty() ? "; there are " + configuration_.catalog.names()
                        : "; did you mean " + near + "?";
}

void Service::call(const RequestContext& context, Repetition& repetition)
{
    if (const auto* const own = protocol_tool(context.params())) {
        call(*own, context);
        return;
    }
    const auto& tool = requested_tool(context.params());
    std::unique_ptr<Heartbeat::Beat> beat;
    tools::Progress progress;
    if (auto token = progress_token(context.params()); !token.empty()) {
        beat = heartbeat_.watch(context.call(), std::move(token), std::string(tool.name));
        progress = [&beat](std::string message) { beat->say(std::move(message)); };
    }
    run(context, tool, repetition, progress);
}

const ProtocolTool* Service::protocol_tool(const json& params) const
{
    const auto name = params.find("name");
    const auto& tools = configuration_.protocol_tools;
    const auto found = std::ranges::find_if(
        tools, [&](const auto& tool) { return name != params.end() && *name == tool.name; });
    return found == tools.end() ? nullptr : &*found;
}

void Service::call(const ProtocolTool& tool, const RequestContext& context)
{
    static const json no_arguments = json::object();
    if (context.era() == Era::modern) {
        check_capabilities(tool.name, *context.client().capabilities);
    }
    const auto given = context.params().find("arguments");
    const auto& arguments = given == context.params().end() ? no_arguments : *given;
    if (!arguments.is_object()) {
        refuse_arguments();
    }
    std::string reply;
    try {
        for (const auto& each : tool.needs) {
            if (!context.can(each)) { // before 2026-07-28 there is no error of the protocol for it
                throw Error(ErrorCode::unsupported,
                            "the client does not declare the capability " + each);
            }
        }
        reply = result_of(tool.call(context, arguments), context.era(), configuration_.identity);
    } catch (const Error& error) {
        reply = tool_failure(error, {}, context.era(), configuration_.identity);
    }
    context.call()->reply(std::move(reply));
}

void Service::check_capabilities(const std::string& tool, const json& capabilities) const
{
    const auto found = std::ranges::find(configuration_.protocol_tools, tool, &ProtocolTool::name);
    if (found != configuration_.protocol_tools.end()) {
        for (const auto& each : found->needs) {
            require_capability(capabilities, each);
        }
    }
}

const std::vector<HeaderArgument>& Service::header_arguments(const std::string& tool) const
{
    static const std::vector<HeaderArgument> none;
    const auto found = header_arguments_.find(tool);
    return found == header_arguments_.end() ? none : found->second;
}

std::string Service::refusal(const Error& why, Era era, const std::string& tool) const
{
    const auto* dialect = configuration_.identity.dialect;
    const auto* called = configuration_.catalog.find(tool);
    const auto own_name = called == nullptr ? std::string_view() : tools::own_name(*called);
    const std::string_view hint =
        tells_cut_off(why) ? tools::advice_for_pieces(own_name) : std::string_view(why.hint());
    const Error named(why.code(), why.what(), tools::in_words_of(dialect, hint));
    return tool_failure(tools::with_facts_of(why, named), {}, era, configuration_.identity,
                        {.tool = own_name});
}

void Service::run(const RequestContext& context, const tools::Entry& tool, Repetition& repetition,
                  const tools::Progress& progress)
{
    const auto& call = context.call();
    const auto era = context.era();
    const json& arguments = arguments_of(call->params());
    const auto same_call = [&] {
        return tools::call_identity(tool, arguments, *configuration_.settings());
    };
    const auto began = repetition.begin(call->received());
    const auto started = std::chrono::steady_clock::now();
    const auto end = configuration_.begin(tool);
    tools::Told told;
    std::vector<std::string> notices; // of this reply
    auto report = begin_report(tool, arguments);
    std::string reply;
    std::string message;
    std::string unheard;
    auto receipt = std::make_shared<sandbox::Receipt>();
    try {
        ResultRoom room(*call, tool, *configuration_.settings());
        auto result = configuration_.run(tool, arguments, call->stop_token(), told, progress,
                                         [&](std::size_t bytes) { room.take(bytes); });
        take_end(report, result.data.get());
        notices = all_notices(told, std::move(result.notices));
        if (result.unsuccessful.empty()) {
            repetition.succeeded(tools::own_name(tool), same_call);
        } else if (const auto times =
                       repetition.ended_alike(began, same_call, result.unsuccessful)) {
            notices.push_back(repetition_notice(times));
        }
        auto taken = std::move(result.receipt);
        reply = tool_result(std::move(result), notices, tool.bodies, era, configuration_.identity);
        room.take_for(reply);
        *receipt = std::move(taken); // what a failure below would not have told is not acknowledged
    } catch (const std::exception& failure) {
        const auto* error = dynamic_cast<const Error*>(&failure);
        report.outcome = to_string(error != nullptr ? error->code() : ErrorCode::internal);
        report.message = message = failure.what();
        notices = told.notices;
        // The sender never sees how a call ended that it had cancelled.
        const auto times = call->stop_token().stop_requested()
                               ? 0
                               : repetition.failed(began, same_call, outcome_of(report));
        reply = tool_failure(failure, notices, era, configuration_.identity,
                             {.tool = tools::own_name(tool), .times = times});
        unheard = unheard_notice(tool, arguments, *configuration_.settings(), failure);
    }
    log_end(context, notices, report);
    give(*call, std::move(reply), receipt, std::move(told), std::move(unheard), configuration_);
    report.duration = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - started);
    end(report);
}

} // namespace berth::mcp

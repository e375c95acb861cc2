#include "server/audit/audit_log.hpp"

#include "sandbox/base/request_scope.hpp"
#include "sandbox/base/sha256.hpp"
#include "server/log.hpp"
#include "tools/call_identity.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::server {
namespace {

using nlohmann::json;

/// A disk that is full is told of so often, not with each call.
constexpr std::chrono::minutes between_complaints{1};
constexpr std::string_view running_tool = "bash_exec";

std::string text_of(const json& object, const char* member)
{
    const auto found = object.find(member);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

AuditRecord new_record(std::chrono::microseconds duration)
{
    AuditRecord record;
    record.duration = duration;
    record.began = std::chrono::system_clock::now() - duration;
    if (const auto* const scope = RequestScope::current()) {
        record.request = scope->id();
        record.traceparent = scope->traceparent();
    }
    return record;
}

/// What a command was run with. `known` is false where that cannot be told: the operator's secrets
/// are not to be had.
struct Variables {
    std::set<std::string> names;
    std::vector<std::string> values;
    bool known = true;

    void add(const std::string& name, const std::string& value)
    {
        names.insert(name);
        values.push_back(value);
    }
};

Variables variables_of(const json& arguments, const tools::Settings& settings)
{
    Variables variables;
    try {
        if (settings.command_variables) {
            for (const auto& [name, value] : settings.command_variables()) {
                variables.add(name, value);
            }
        }
    } catch (const std::exception&) {
        variables.known = false;
    }
    if (const auto env = arguments.find("env"); env != arguments.end() && env->is_object()) {
        for (const auto& [name, value] : env->items()) {
            variables.add(name, value.is_string() ? value.get<std::string>() : std::string());
        }
    }
    return variables;
}

} // namespace

void AuditLog::call(const Options& options, const tools::Settings& settings,
                    const mcp::CallReport& call) noexcept
{
    try {
        auto record = new_record(call.duration);
        record.principal = options.session.principal;
        record.session = options.session.session;
        record.tool = call.own_name;
        record.outcome = call.outcome;
        record.exit_code = call.exit_code;
        record.fate = call.fate;
        if (call.own_name == running_tool) {
            add_command(record, settings, call);
        }
        write(record);
    } catch (const std::exception& error) {
        tell_of_loss(error);
    }
}

void AuditLog::operation(std::string_view operator_name, std::string_view did,
                         std::string_view session, std::string_view outcome,
                         std::chrono::microseconds duration) noexcept
{
    try {
        auto record = new_record(duration);
        record.principal = operator_name;
        record.session = session;
        record.tool = "sessions." + std::string(did);
        record.outcome = outcome;
        write(record);
    } catch (const std::exception& error) {
        tell_of_loss(error);
    }
}

void AuditLog::add_command(AuditRecord& record, const tools::Settings& settings,
                           const mcp::CallReport& call) const
{
    const auto arguments = tools::own_form(*call.entry, *call.arguments, settings);
    const auto command = arguments.is_object() ? text_of(arguments, "command") : std::string();
    auto variables = arguments.is_object() ? variables_of(arguments, settings) : Variables();
    record.command_bytes = command.size();
    record.variables.assign(variables.names.begin(), variables.names.end());
    // What is secret must be known to be left out.
    if (command_ == AuditOptions::Command::hash ||
        (command_ == AuditOptions::Command::text && !variables.known)) {
        record.command_sha256 = sha256_hex(command);
    } else if (command_ == AuditOptions::Command::text) {
        record.command = shown_command(command, std::move(variables.values));
    }
}

void AuditLog::write(const AuditRecord& record)
{
    const auto line = audit_line(record);
    const std::lock_guard lock(mutex_);
    if (lost_ > 0) {
        AuditRecord gap = new_record({});
        gap.tool = "audit.lost";
        gap.outcome = tools::counted(lost_, "line") + " before this one could not be written";
        file_.append(audit_line(gap));
        log::write(log::Level::info, "the audit log is written again",
                   {{"lost", std::to_string(lost_)}});
        lost_ = 0;
        told_ = {};
    }
    file_.append(line);
}

void AuditLog::tell_of_loss(const std::exception& why) noexcept
{
    try {
        const std::lock_guard lock(mutex_);
        ++lost_;
        const auto now = std::chrono::steady_clock::now();
        if (told_ == std::chrono::steady_clock::time_point() || now - told_ > between_complaints) {
            told_ = now;
            log::write(log::Level::error, "the audit log cannot be written",
                       {{"error", why.what()}, {"lost", std::to_string(lost_)}});
        }
    } catch (const std::exception&) { // no memory: the count says it later
        return;
    }
}

std::shared_ptr<AuditLog> open_audit_log(const Options& options)
{
    return options.audit.path.empty() ? nullptr : std::make_shared<AuditLog>(options.audit);
}

} // namespace berth::server

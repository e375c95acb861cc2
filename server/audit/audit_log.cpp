#include "server/audit/audit_log.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/request_scope.hpp"
#include "sandbox/base/sha256.hpp"
#include "server/audit/call_secrets.hpp"
#include "server/ending.hpp"
#include "server/log.hpp"
#include "server/rpc/json_text.hpp"
#include "tools/call_identity.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace berth::server {
namespace {

using nlohmann::json;

/// A disk that is full is told of so often, not with each call.
constexpr std::chrono::minutes between_complaints{1};
/// For calls that are answered, and whose lines are about to be written.
constexpr std::chrono::milliseconds ending_time{50};
/// And for the disk, beyond which the end of the server does not wait.
constexpr std::chrono::milliseconds closing_time{200};
constexpr std::string_view running_tool = "bash_exec";

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

/// What commands have by the operator's settings at one moment.
struct Moment {
    std::shared_ptr<const tools::Settings> settings; ///< null: they were not to be had
    std::map<std::string, std::string> variables;
    bool known = false; ///< false: nor are the variables, since a secret of them is not

    explicit Moment(const SettingsNow& now)
    {
        try {
            settings = now();
            if (settings->command_variables) {
                variables = settings->command_variables();
            }
            if (settings->withheld_secrets) {
                variables.merge(settings->withheld_secrets());
            }
            known = true;
        } catch (const std::exception&) {
            known = false;
        }
    }
};

void add_secrets(std::vector<tools::Secret>& secrets, const std::map<std::string, std::string>& of)
{
    for (const auto& [name, value] : of) {
        secrets.push_back({.name = name, .value = value});
    }
}

} // namespace

/// What a secret was when the command was run is known before alone: it may be another one at the
/// call's end.
struct AuditLog::Beginning {
    SettingsNow settings;
    std::optional<Moment> moment; ///< nothing: it runs no command
};

mcp::CallEnd AuditLog::begin(const Options& options, SettingsNow settings, const tools::Entry& tool)
{
    auto beginning = std::make_shared<Beginning>();
    if (tools::own_name(tool) == running_tool) {
        beginning->moment.emplace(settings);
    }
    beginning->settings = std::move(settings);
    mcp::CallEnd end = [this, &options, beginning](const mcp::CallReport& report) {
        call(options, *beginning, report);
    };
    ++at_work_;
    return end;
}

void AuditLog::call(const Options& options, const Beginning& beginning,
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
        if (beginning.moment) {
            add_command(record, options, beginning, call);
        }
        write(record);
    } catch (const std::exception& error) {
        tell_of_loss(error);
    }
}

mcp::ReadEnd AuditLog::begin_read(const Options& options)
{
    ++at_work_;
    return [this, &options](const mcp::ReadReport& report) { read(options, report); };
}

void AuditLog::read(const Options& options, const mcp::ReadReport& report) noexcept
{
    try {
        auto record = new_record(report.duration);
        record.principal = options.session.principal;
        record.session = options.session.session;
        // As what operators have done is written, and no tool is called.
        record.tool = report.method;
        std::ranges::replace(record.tool, '/', '.');
        record.uri = report.uri;
        record.outcome = report.outcome;
        write(record);
    } catch (const std::exception& error) {
        tell_of_loss(error);
    }
}

void AuditLog::operation(std::string_view operator_name, std::string_view did,
                         std::string_view session, AuditRecord::Operation what,
                         std::string_view outcome, std::chrono::microseconds duration) noexcept
{
    ++at_work_;
    try {
        auto record = new_record(duration);
        record.principal = operator_name;
        record.session = session;
        record.tool = "sessions." + std::string(did);
        record.operation = std::move(what);
        record.outcome = outcome;
        write(record);
    } catch (const std::exception& error) {
        tell_of_loss(error);
    }
}

void AuditLog::add_command(AuditRecord& record, const Options& options, const Beginning& beginning,
                           const mcp::CallReport& call) const
{
    const auto& before = *beginning.moment;
    const auto arguments = tools::own_form(*call.entry, *call.arguments,
                                           before.settings ? *before.settings : options.tools);
    const auto command =
        arguments.is_object() ? rpc::text_member(arguments, "command") : std::string();
    auto of_call = secrets_of_call(arguments);
    std::set<std::string> names(of_call.names.begin(), of_call.names.end());
    for (const auto& [name, value] : before.variables) {
        names.insert(name);
    }
    record.variables.assign(names.begin(), names.end());
    record.command_bytes = command.size();
    if (command_ == AuditOptions::Command::hash) {
        record.command_sha256 = sha256_hex(command);
    } else if (command_ == AuditOptions::Command::text) {
        // It may have been renewed between that moment and the command's own look at it.
        const Moment after(beginning.settings);
        std::vector<tools::Secret> secrets;
        add_secrets(secrets, before.variables);
        add_secrets(secrets, after.variables);
        // What is secret must be known to be left out.
        if (before.known && after.known && of_call.are_all) {
            record.command = shown_command(command, std::move(of_call.values), secrets);
        }
        if (!record.command) {
            record.command_sha256 = sha256_hex(command);
        }
    }
}

void AuditLog::write(const AuditRecord& record)
{
    const auto line = audit_line(record);
    const std::lock_guard lock(mutex_);
    if (closed_) { // counted
        return;
    }
    if (lost_ > 0) {
        const auto lost = std::to_string(lost_);
        write_gap();
        log::write(log::Level::info, "the audit log is written again", {{"lost", lost}});
        told_ = {};
    }
    file_.append(line);
    --at_work_;
}

/// With mutex_ held.
void AuditLog::write_gap()
{
    AuditRecord gap = new_record({});
    gap.tool = "audit.lost";
    gap.outcome = tools::counted(lost_, "line") + " before this one could not be written";
    file_.append(audit_line(gap));
    lost_ = 0;
}

void AuditLog::close() noexcept
{
    const auto deadline = Deadline::after(ending_time);
    while (at_work_ > 0 && !deadline.expired()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    try {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        lost_ += at_work_.exchange(0);
        if (lost_ > 0) {
            log::write(log::Level::warning, "lines are missing in the audit log",
                       {{"lost", std::to_string(lost_)}});
            write_gap();
        }
    } catch (const std::exception& error) {
        log::write(log::Level::error, "the audit log cannot be written", {{"error", error.what()}});
    }
}

void AuditLog::tell_of_loss(const std::exception& why) noexcept
{
    try {
        const std::lock_guard lock(mutex_);
        if (closed_) {
            return;
        }
        ++lost_;
        --at_work_;
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

void close_audit_log(const std::shared_ptr<AuditLog>& audit)
{
    if (audit && !done_within([audit] { audit->close(); }, closing_time, "audit log")) {
        log::write(log::Level::warning, "the audit log is not known to be whole",
                   {{"hint", "its disk did not answer in time"}});
    }
}

} // namespace berth::server

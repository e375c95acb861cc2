#include "sandbox/e2b/process_messages.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/e2b/json_text.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <limits>
#include <utility>

namespace berth::e2b {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& why)
{
    throw Error(ErrorCode::backend_error, "the envd of the sandbox said what means nothing: " + why,
                "What runs as root in a sandbox can take its envd's place: end the session.");
}

json selector(Pid pid)
{
    return {{"process", {{"pid", pid}}}};
}

/// proto3 leaves out what is zero, and may write a number as a string.
template <class Number>
Number number_at(const json& object, const char* key)
{
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) {
        return 0;
    }
    if (!found->is_number_integer()) {
        refuse(std::string(key) + " that is no number");
    }
    // An unsigned one beyond the range of this type would come out as a negative one.
    if (found->is_number_unsigned() &&
        found->get<std::uint64_t>() > std::numeric_limits<Number>::max()) {
        refuse(std::string(key) + " that is out of its range");
    }
    const auto value = found->get<std::int64_t>();
    if (!std::in_range<Number>(value)) {
        refuse(std::string(key) + " that is out of its range");
    }
    return static_cast<Number>(value);
}

bool flag_at(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

ProcessOutput output_in(const json& data)
{
    using Stream = ProcessOutput::Stream;
    constexpr std::array streams = {std::pair{"stdout", Stream::out},
                                    std::pair{"stderr", Stream::error},
                                    std::pair{"pty", Stream::terminal}};
    for (const auto& [name, stream] : streams) {
        if (data.contains(name)) {
            auto bytes = base64_decode(text_at(data, name));
            if (!bytes) {
                refuse(std::string(name) + " that is no base64");
            }
            return {.stream = stream, .bytes = std::move(*bytes)};
        }
    }
    return {}; // of no bytes: left out, as what is empty is
}

} // namespace

std::string start_message(const ProcessStart& start)
{
    json process = {{"cmd", start.command}, {"args", start.arguments}};
    if (!start.environment.empty()) {
        process["envs"] = start.environment;
    }
    if (!start.working_directory.empty()) {
        process["cwd"] = start.working_directory;
    }
    // Always said: envd takes silence for true, and what reads its stdin would wait for ever.
    json message = {{"process", std::move(process)}, {"stdin", start.stdin_open}};
    if (!start.tag.empty()) {
        message["tag"] = start.tag;
    }
    return json_text(message);
}

std::string process_message(Pid pid)
{
    return json_text(selector(pid));
}

std::string signal_message(Pid pid, ProcessSignal signal)
{
    auto message = selector(pid);
    message["signal"] = signal == ProcessSignal::kill ? "SIGNAL_SIGKILL" : "SIGNAL_SIGTERM";
    return json_text(message);
}

std::string input_message(Pid pid, std::string_view bytes)
{
    auto message = selector(pid);
    message["input"]["stdin"] = base64_encode(bytes);
    return json_text(message);
}

std::string input_begin_message(Pid pid)
{
    return json_text({{"start", selector(pid)}});
}

std::string input_data_message(std::string_view bytes)
{
    return json_text({{"data", {{"input", {{"stdin", base64_encode(bytes)}}}}}});
}

std::string input_quiet_message()
{
    return R"({"keepalive":{}})";
}

ProcessEvent parse_event(std::string_view payload)
{
    const auto message = parse_json(payload);
    if (!message || !message->is_object()) {
        refuse(std::to_string(payload.size()) + " bytes that are no JSON object");
    }
    const auto event = message->find("event");
    if (event == message->end() || !event->is_object()) {
        return ProcessQuiet{};
    }
    const auto member = [&](const char* key) -> const json* {
        const auto found = event->find(key);
        return found != event->end() && found->is_object() ? &*found : nullptr;
    };
    if (const auto* start = member("start")) {
        return ProcessStarted{.pid = number_at<Pid>(*start, "pid")};
    }
    if (const auto* data = member("data")) {
        return output_in(*data);
    }
    if (const auto* end = member("end")) {
        return ProcessEnded{.exit_code = number_at<std::int32_t>(*end, "exitCode"),
                            .exited = flag_at(*end, "exited"),
                            .status = text_at(*end, "status"),
                            .error = text_at(*end, "error")};
    }
    return ProcessQuiet{};
}

std::vector<ProcessInfo> parse_processes(std::string_view body)
{
    const auto message = parse_json(body);
    if (!message || !message->is_object()) {
        refuse(std::to_string(body.size()) + " bytes that are no JSON object");
    }
    std::vector<ProcessInfo> processes;
    const auto list = message->find("processes");
    if (list == message->end() || !list->is_array()) {
        return processes;
    }
    for (const auto& each : *list) {
        if (!each.is_object()) {
            refuse("a process that is no object");
        }
        ProcessInfo info{
            .pid = number_at<Pid>(each, "pid"), .command = {}, .tag = text_at(each, "tag")};
        if (const auto config = each.find("config"); config != each.end() && config->is_object()) {
            info.command = text_at(*config, "cmd");
            if (const auto args = config->find("args"); args != config->end() && args->is_array()) {
                for (const auto& argument : *args) {
                    info.arguments.push_back(argument.is_string() ? argument.get<std::string>()
                                                                  : std::string());
                }
            }
        }
        processes.push_back(std::move(info));
    }
    return processes;
}

} // namespace berth::e2b

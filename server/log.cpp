#include "server/log.hpp"

#include "sandbox/base/request_scope.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/rpc/json_text.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <vector>

namespace berth::server::log {
namespace {

struct Logger {
    std::shared_ptr<spdlog::logger> lines;
    bool json = false;
};

Logger& logger()
{
    static Logger instance;
    return instance;
}

spdlog::level::level_enum to_spdlog(Level level)
{
    switch (level) {
    case Level::debug:
        return spdlog::level::debug;
    case Level::info:
        return spdlog::level::info;
    case Level::warning:
        return spdlog::level::warn;
    case Level::error:
        break;
    }
    return spdlog::level::err;
}

/// A value with blanks, quotes or control characters is quoted, so that no field can forge another
/// or start a line of its own.
std::string plain_or_quoted(std::string_view value)
{
    const bool plain = !value.empty() && value.find_first_of(" \"\\=") == std::string_view::npos &&
                       utf8::is_valid(value) && !utf8::has_control(value);
    std::string text(plain ? value : "");
    if (!plain) {
        rpc::append_quoted(text, utf8::sanitize(value));
    }
    return text;
}

/// What a line has beside its own fields: of which request it is, where its thread is at one.
std::vector<Field> with_request(std::initializer_list<Field> fields)
{
    std::vector<Field> all(fields);
    if (const auto* const scope = RequestScope::current()) {
        all.emplace_back("request", scope->id());
        if (!scope->traceparent().empty()) {
            all.emplace_back("traceparent", scope->traceparent());
        }
    }
    return all;
}

std::string as_text(std::string_view message, const std::vector<Field>& fields)
{
    std::string line(message);
    for (const auto& [name, value] : fields) {
        line += ' ';
        line += name;
        line += '=' + plain_or_quoted(value);
    }
    return line;
}

std::string as_json(std::string_view message, const std::vector<Field>& fields)
{
    std::string line = R"("message":)";
    rpc::append_quoted(line, utf8::sanitize(message));
    for (const auto& [name, value] : fields) {
        line += ',';
        rpc::append_quoted(line, name);
        line += ':';
        rpc::append_quoted(line, utf8::sanitize(value));
    }
    return line;
}

} // namespace

void start(const std::string& level, const std::string& format)
{
    auto& instance = logger();
    instance.json = format == "json";
    // Not in spdlog's registry: a second start would be refused there.
    instance.lines = std::make_shared<spdlog::logger>(
        "berth", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    instance.lines->set_level(spdlog::level::from_str(level));
    instance.lines->set_pattern(instance.json
                                    ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                                    : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                                spdlog::pattern_time_type::utc);
    instance.lines->flush_on(spdlog::level::debug);
}

void write(Level level, std::string_view message, std::initializer_list<Field> fields)
{
    const auto& instance = logger();
    const auto spdlog_level = to_spdlog(level);
    if (!instance.lines || !instance.lines->should_log(spdlog_level)) {
        return;
    }
    const auto all = with_request(fields);
    const auto line = instance.json ? as_json(message, all) : as_text(message, all);
    instance.lines->log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

} // namespace berth::server::log

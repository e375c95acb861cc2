#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace berth::server::log {

enum class Level : unsigned char { debug, info, warning, error };

/// Once, before anything is logged. To stderr, which is never the protocol's channel.
void start(const std::string& level, const std::string& format);

using Field = std::pair<std::string_view, std::string_view>;

/// One line. `message` is a fixed text; what varies goes into fields. Never payloads or secrets:
/// no arguments, no file contents, no output of commands. Of a thread that is at a request
/// (RequestScope) the line has its id, and the caller's traceparent.
void write(Level level, std::string_view message, std::initializer_list<Field> fields = {});

} // namespace berth::server::log

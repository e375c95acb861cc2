#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What is said with process.Process of envd, as proto3 JSON.

namespace berth::e2b {

using Pid = std::uint32_t;

struct ProcessStart {
    std::string command;
    std::vector<std::string> arguments{};
    std::map<std::string, std::string> environment{};
    std::string working_directory{}; ///< empty: the home
    std::string user{};              ///< empty: the one of the template
    std::string tag{};               ///< empty: none
    bool stdin_open = true;          ///< else /dev/null
};

struct ProcessStarted {
    Pid pid = 0;
};

struct ProcessOutput {
    enum class Stream : unsigned char { out, error, terminal };

    Stream stream = Stream::out;
    std::string bytes;
};

struct ProcessEnded {
    std::int32_t exit_code = 0; ///< -1 after a signal
    bool exited = false;        ///< by itself
    std::string status{};       ///< in Go's words: "exit status 3", "signal: killed"
    std::string error{};
};

/// Nobody has anything to say: what an event that is not known counts as, too.
struct ProcessQuiet {};

using ProcessEvent = std::variant<ProcessQuiet, ProcessStarted, ProcessOutput, ProcessEnded>;

struct ProcessInfo {
    Pid pid = 0;
    std::string command;
    std::vector<std::string> arguments{};
    std::string tag{};
};

enum class ProcessSignal : unsigned char { terminate, kill };

[[nodiscard]] std::string start_message(const ProcessStart& start);

/// {"process":{"pid":N}}: Connect, CloseStdin, and what the others begin with.
[[nodiscard]] std::string process_message(Pid pid);

[[nodiscard]] std::string signal_message(Pid pid, ProcessSignal signal);

[[nodiscard]] std::string input_message(Pid pid, std::string_view bytes);

/// The first and the following messages of a StreamInput.
[[nodiscard]] std::string input_begin_message(Pid pid);
[[nodiscard]] std::string input_data_message(std::string_view bytes);
[[nodiscard]] std::string input_quiet_message();

/// Throws Error(backend_error) for what is no event, or one whose members are of other types.
[[nodiscard]] ProcessEvent parse_event(std::string_view payload);

/// Throws as parse_event().
[[nodiscard]] std::vector<ProcessInfo> parse_processes(std::string_view body);

} // namespace berth::e2b

#include "server/audit/audit_record.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/wall_time.hpp"
#include "server/cli/hidden_passwords.hpp"
#include "server/rpc/json_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace berth::server {
namespace {

constexpr std::size_t shown_characters = 400;
constexpr std::size_t shortest_value = 4;
/// Each is looked for: a call that brings more could have the server search for seconds.
constexpr std::size_t most_secret_bytes = std::size_t{256} << 10U;
/// Names are the caller's, and as long and as many as he likes.
constexpr std::size_t most_names = 64;
constexpr std::size_t longest_name = 128;
constexpr std::string_view mask = "***";

void add_text(std::string& line, std::string_view name, std::string_view value)
{
    line += line.empty() ? '{' : ',';
    rpc::append_quoted(line, name);
    line += ':';
    rpc::append_quoted(line, utf8::sanitize(value));
}

/// `number`: or another word of JSON.
void add_number(std::string& line, std::string_view name, std::string_view number)
{
    line += ',';
    rpc::append_quoted(line, name);
    line.append(":").append(number);
}

void add_names(std::string& line, const std::vector<std::string>& names)
{
    line += R"(,"env":[)";
    for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i) {
        line += i == 0 ? "" : ",";
        const auto clean = utf8::sanitize(names[i]);
        rpc::append_quoted(line, utf8::prefix_bytes(clean, longest_name));
    }
    line += ']';
    if (names.size() > most_names) {
        add_number(line, "env_more", std::to_string(names.size() - most_names));
    }
}

void add_truth(std::string& line, std::string_view name, const std::optional<bool>& value)
{
    if (value) {
        add_number(line, name, *value ? "true" : "false");
    }
}

void add_operation(std::string& line, const AuditRecord::Operation& operation)
{
    for (const auto& [name, value] : {std::pair("of", &operation.of),
                                      {"key", &operation.key},
                                      {"backend", &operation.backend}}) {
        if (!value->empty()) {
            add_text(line, name, *value);
        }
    }
    add_truth(line, "purge", operation.purge);
    add_truth(line, "save", operation.save);
    add_truth(line, "purged", operation.purged);
    if (operation.saved) {
        add_number(line, "saved", std::to_string(*operation.saved));
    }
}

/// With milliseconds: of one second there may be hundreds.
std::string time_of(std::chrono::system_clock::time_point time)
{
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(time - whole).count();
    std::array<char, 8> digits{};
    std::snprintf(digits.data(), digits.size(), ".%03dZ", static_cast<int>(rest));
    auto text = rfc3339(whole);
    text.pop_back();
    return text + digits.data();
}

/// Of what begins before `end` and is one of `values`.
std::vector<tools::SecretPlace> places_of(const std::vector<std::string>& values,
                                          std::string_view text, std::size_t end)
{
    std::vector<tools::SecretPlace> found;
    for (const auto& value : values) {
        const auto where = text.substr(0, end + value.size() - 1);
        const auto of_others = found.size();
        for (auto at = where.find(value); at != std::string_view::npos;
             at = where.find(value, at + 1)) {
            // Joined at once: hundreds of secrets, each of some letters "a", are in a text of these
            // millions of times, and a caller could have that much kept.
            if (found.size() > of_others && at < found.back().end) {
                found.back().end = at + value.size();
            } else {
                found.push_back({.begin = at, .end = at + value.size()});
            }
        }
    }
    return found;
}

/// The first bytes of `text` with a mask in place of each secret.
std::string masked(std::string_view text, std::size_t end, const std::vector<std::string>& values,
                   const tools::SecretMask& forms)
{
    auto places = places_of(values, text, end);
    const auto in_forms = forms.places(std::string(text.substr(0, end)), /*parts=*/false);
    places.insert(places.end(), in_forms.begin(), in_forms.end());
    std::string without;
    std::size_t from = 0;
    for (const auto& place : tools::joined_places(std::move(places))) {
        without.append(text, from, place.begin - from).append(mask);
        from = place.end;
    }
    return from < end ? without.append(text, from, end - from) : without;
}

/// So many bytes are looked at, of which 400 characters are shown: a command may have megabytes.
/// None ends within a word, which may be an address with a password.
std::size_t looked_at(std::string_view text)
{
    constexpr std::size_t most = std::size_t{16} << 10U;
    if (text.size() <= most) {
        return text.size();
    }
    const auto blank = text.find_last_of(" \t\r\n", most);
    return blank == std::string_view::npos ? 0 : blank;
}

std::string_view first_characters(std::string_view text, std::size_t count)
{
    std::size_t end = 0;
    for (; count > 0 && end < text.size(); --count) {
        end += std::max<std::size_t>(utf8::character_length(text.substr(end)), 1);
    }
    return text.substr(0, end);
}

} // namespace

std::optional<std::string> shown_command(std::string_view command, std::vector<std::string> values,
                                         const std::vector<tools::Secret>& secrets)
{
    for (const auto& secret : secrets) {
        values.push_back(secret.value);
    }
    std::erase_if(values, [](const auto& each) { return each.size() < shortest_value; });
    std::ranges::sort(values);
    const auto repeated = std::ranges::unique(values);
    values.erase(repeated.begin(), repeated.end());
    std::size_t bytes = 0;
    for (const auto& value : values) {
        bytes += value.size();
    }
    if (bytes > most_secret_bytes) {
        return std::nullopt;
    }
    // Before it is cut, which could leave a part of one.
    const auto end = looked_at(command);
    const auto text = utf8::sanitize(
        cli::hide_passwords(masked(command, end, values, tools::SecretMask(secrets))));
    const auto shown = first_characters(text, shown_characters);
    const bool is_whole = shown.size() == text.size() && end == command.size();
    return std::string(shown) + (is_whole ? "" : "…");
}

std::string audit_line(const AuditRecord& record)
{
    std::string line;
    add_text(line, "time", time_of(record.began));
    if (!record.request.empty()) {
        add_text(line, "request", record.request);
    }
    if (!record.traceparent.empty()) {
        add_text(line, "traceparent", record.traceparent);
    }
    add_text(line, "principal", record.principal);
    add_text(line, "session", record.session);
    add_text(line, "tool", record.tool);
    if (record.operation) {
        add_operation(line, *record.operation);
    }
    if (!record.uri.empty()) {
        const auto clean = utf8::sanitize(record.uri);
        add_text(line, "uri", first_characters(clean, shown_characters));
    }
    if (record.command) {
        add_text(line, "command", *record.command);
    }
    if (record.command_sha256) {
        add_text(line, "command_sha256", *record.command_sha256);
    }
    if (record.command_bytes) {
        add_number(line, "command_bytes", std::to_string(*record.command_bytes));
        add_names(line, record.variables);
    }
    add_text(line, "outcome", record.outcome);
    if (!record.fate.empty()) {
        add_text(line, "fate", record.fate);
    }
    if (record.exit_code) {
        add_number(line, "exit_code", std::to_string(*record.exit_code));
    }
    const auto milliseconds = static_cast<double>(record.duration.count()) / 1000;
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.3f", milliseconds);
    add_number(line, "duration_ms", digits.data());
    add_number(line, "server", std::to_string(::getpid()));
    return line + '}';
}

} // namespace berth::server

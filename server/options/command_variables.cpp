#include "server/options/command_variables.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/filter/secret_rule.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::server {
namespace {

/// Half of what the kernel takes for one variable.
constexpr std::size_t longest_secret = 64UL * 1024;

bool is_variable_name(std::string_view name)
{
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    constexpr std::string_view digits = "0123456789";
    return !name.empty() && letters.find(name.front()) != std::string_view::npos &&
           std::all_of(name.begin(), name.end(), [&](char c) {
               return letters.find(c) != std::string_view::npos ||
                      digits.find(c) != std::string_view::npos;
           });
}

/// What is wrong with the file, in words; empty: nothing, and `content` has it.
std::string read_secret(const std::string& path, std::string& content)
{
    // Not to hang on a FIFO; a link is followed, since orchestrators change secrets by links.
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status = {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return std::generic_category().message(errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return "it is no regular file";
    }
    content.resize(longest_secret + 1);
    std::size_t size = 0;
    while (size < content.size()) {
        const ssize_t got = ::read(file.get(), content.data() + size, content.size() - size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return std::generic_category().message(errno);
        }
        if (got == 0) {
            break;
        }
        size += static_cast<std::size_t>(got);
    }
    content.resize(size);
    return size > longest_secret ? "it has more than " + std::to_string(longest_secret) + " bytes"
                                 : std::string();
}

void drop_line_end(std::string& content)
{
    if (content.ends_with('\n')) {
        content.pop_back();
        if (content.ends_with('\r')) {
            content.pop_back();
        }
    }
}

} // namespace

CommandVariables::CommandVariables(const RawValue& env, const RawValue& secret,
                                   Environment environment, std::shared_ptr<SecretMemory> memory,
                                   const std::set<std::string>& withheld)
    : origin_(secret.origin), environment_(std::move(environment)), memory_(std::move(memory))
{
    std::size_t number = 0;
    for (const auto& item : env.items) {
        ++number;
        const auto equals = item.find('=');
        const auto name = item.substr(0, equals);
        if (equals == std::string::npos || !is_variable_name(name) ||
            item.find('\0') != std::string::npos || !utf8::is_valid(item)) {
            throw Error(ErrorCode::invalid_argument,
                        "env (" + env.origin + "), entry " + std::to_string(number) +
                            ": it is not of the form NAME=VALUE",
                        "NAME is of letters, digits and _, with no digit first; VALUE any UTF-8.");
        }
        plain_[name] = item.substr(equals + 1);
    }
    number = 0;
    for (const auto& item : secret.items) {
        add_secret(item, ++number, withheld);
    }
}

/// Nothing of what is mistyped is quoted: it may be the secret itself, by mistake.
void CommandVariables::add_secret(const std::string& item, std::size_t number,
                                  const std::set<std::string>& withheld)
{
    constexpr std::string_view of_variable = "env:";
    constexpr std::string_view of_file = "file:";
    const auto equals = item.find('=');
    const auto name = item.substr(0, equals);
    const auto value = equals == std::string::npos ? std::string() : item.substr(equals + 1);
    const bool is_file = value.starts_with(of_file);
    const auto source =
        value.substr(std::min(value.size(), (is_file ? of_file : of_variable).size()));
    const bool is_source = is_file
                               ? source.starts_with('/') && source.find('\0') == std::string::npos
                               : value.starts_with(of_variable) && is_variable_name(source);
    if (!is_variable_name(name) || !is_source) {
        throw Error(ErrorCode::invalid_argument,
                    "secret (" + origin_ + "), entry " + std::to_string(number) +
                        ": it is not of the form NAME=env:VARIABLE or NAME=file:/PATH",
                    "A secret itself does not belong into settings: put it into a file that only "
                    "berth's user can read, or into a variable of the server.");
    }
    const bool twice = plain_.contains(name) ||
                       std::any_of(secrets_.begin(), secrets_.end(),
                                   [&](const Source& other) { return other.name == name; });
    if (twice) {
        throw Error(ErrorCode::invalid_argument,
                    "secret (" + origin_ + "): " + name + " is given twice, here or in env",
                    "Give each variable once.");
    }
    secrets_.push_back({.name = name,
                        .source = source,
                        .is_file = is_file,
                        .is_withheld = withheld.contains(name)});
}

std::string CommandVariables::value_of(const Source& secret) const
{
    std::string value;
    std::string wrong;
    if (secret.is_file) {
        wrong = read_secret(secret.source, value);
        drop_line_end(value);
    } else if (auto found = environment_(secret.source)) {
        value = std::move(*found);
    } else {
        wrong = "it is not set";
    }
    if (wrong.empty() && value.find('\0') != std::string::npos) {
        wrong = "it contains a NUL byte";
    }
    if (wrong.empty() && secret.is_withheld) {
        wrong = filter::unfit_for_request(value);
    }
    if (!wrong.empty()) {
        // A file may be there at the next call; the server's environment stays what it is.
        throw Error(
            Error(ErrorCode::sandbox_unavailable,
                  "the secret " + secret.name + " cannot be had from " +
                      (secret.is_file ? "the file " : "the server's variable ") +
                      visible(secret.source) + " (secret, " + origin_ + "): " + wrong +
                      "; nothing was run",
                  "The operator puts it there, or takes it out of the setting `secret`. A file "
                  "is read for each command; a variable is that of the server's start.")
                .set_retryable(secret.is_file));
    }
    return value;
}

std::vector<std::string> CommandVariables::files() const
{
    std::vector<std::string> found;
    for (const auto& secret : secrets_) {
        if (secret.is_file) {
            found.push_back(secret.source);
        }
    }
    return found;
}

std::map<std::string, std::string> CommandVariables::now() const
{
    auto variables = plain_;
    add_values(variables, /*withheld=*/false);
    return variables;
}

std::map<std::string, std::string> CommandVariables::withheld() const
{
    std::map<std::string, std::string> values;
    add_values(values, /*withheld=*/true);
    return values;
}

void CommandVariables::add_values(std::map<std::string, std::string>& values, bool withheld) const
{
    for (const auto& secret : secrets_) {
        if (secret.is_withheld == withheld) {
            auto& value = values[secret.name] = value_of(secret);
            memory_->note(secret.name, value);
        }
    }
}

bool CommandVariables::has_withheld() const noexcept
{
    return std::ranges::any_of(secrets_, &Source::is_withheld);
}

bool CommandVariables::gives_secrets() const noexcept
{
    return !std::ranges::all_of(secrets_, &Source::is_withheld);
}

std::vector<tools::Secret> CommandVariables::known_secrets() const
{
    return memory_->all();
}

std::vector<tools::Secret> CommandVariables::secrets() const
{
    for (const auto& secret : secrets_) {
        try {
            memory_->note(secret.name, value_of(secret));
        } catch (const Error&) {
            continue; // no command has it either
        }
    }
    return known_secrets();
}

} // namespace berth::server

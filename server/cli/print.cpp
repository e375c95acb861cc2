#include "server/cli/print.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "server/cli/hidden_passwords.hpp"
#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace berth::server::cli {
namespace {

int lost_output = 0; ///< errno

int write_to(int fd, std::string_view text)
{
    try {
        write_full(fd, text);
        return 0;
    } catch (const std::system_error& error) {
        return error.code().value();
    }
}

/// As \u202e; above U+FFFF JSON takes the two surrogates of UTF-16.
std::string json_escape(char32_t point)
{
    constexpr char32_t beyond = 0x10000;
    std::array<char, 16> escape{};
    if (point < beyond) {
        std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(point));
    } else {
        const char32_t rest = point - beyond;
        std::snprintf(escape.data(), escape.size(), "\\u%04x\\u%04x", 0xD800U + (rest >> 10U),
                      0xDC00U + (rest & 0x3FFU));
    }
    return escape.data();
}

/// The text of a document, in which the library leaves most of what deceives as it is. Outside of
/// its strings there is only the line end.
std::string visible_json(std::string_view text)
{
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const auto character =
            text.substr(0, std::max<std::size_t>(utf8::character_length(text), 1));
        if (character != "\n" && utf8::is_deceptive(character)) {
            shown += json_escape(utf8::code_point(character));
        } else {
            shown += character;
        }
        text.remove_prefix(character.size());
    }
    return shown;
}

/// Names in it can be anybody's, and must not move a terminal's cursor.
std::string visible_lines(std::string_view text)
{
    std::string shown;
    for (;;) {
        const auto line = text.substr(0, text.find('\n'));
        shown += visible(line) + '\n';
        if (line.size() == text.size()) {
            return shown;
        }
        text.remove_prefix(line.size() + 1);
    }
}

} // namespace

void hold_standard_streams()
{
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            // This number is the lowest that is free. Of the output the loss is to be noticed.
            UniqueFd place(::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY));
            (void)place.release();
        }
    }
}

bool output_is_closed()
{
    const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
    return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

void print(std::string_view text)
{
    std::string line(text);
    if (!line.empty() && line.back() != '\n') {
        line += '\n';
    }
    const int error = write_to(STDOUT_FILENO, line);
    if (error != EPIPE && error != 0 && lost_output == 0) { // a pipe's reader may have had enough
        lost_output = error;
    }
}

bool tell_lost_output()
{
    if (lost_output == 0) {
        return false;
    }
    complain("the output cannot be written: " +
             (lost_output == EBADF ? "standard output is closed"
                                   : std::generic_category().message(lost_output)));
    return true;
}

void print_json(const nlohmann::json& value)
{
    print(visible_json(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)));
}

void complain(std::string_view message, std::string_view hint)
{
    std::string text = "berth: " + visible_lines(hide_passwords(message));
    if (!hint.empty()) {
        text += visible_lines(hide_passwords(hint));
    }
    (void)write_to(STDERR_FILENO, text);
}

std::string one_line(std::string_view text, std::size_t longest)
{
    return visible_beginning(text, longest, "…");
}

std::string or_dash(const std::string& text)
{
    return text.empty() ? "-" : text;
}

std::string table(std::vector<std::vector<std::string>> rows)
{
    std::vector<std::size_t> widths;
    for (auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = visible(row[i]);
            widths[i] = std::max(widths[i], utf8::count(row[i]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += row[i];
            if (i + 1 < row.size()) {
                text.append(widths[i] - utf8::count(row[i]) + 2, ' ');
            }
        }
        text += '\n';
    }
    return text;
}

} // namespace berth::server::cli

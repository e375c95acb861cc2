#include "server/mcp/advice.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace berth::mcp {
namespace {

struct Advice {
    ErrorCode code;
    const char* hint;    ///< what to do where the error itself does not say it better
    const char* instead; ///< of sending the call again, once that has not helped
};

constexpr std::array usual{
    Advice{ErrorCode::invalid_argument, "Change the argument that is named above, then call again.",
           "Read again what the error says of the arguments, and change them"},
    Advice{ErrorCode::empty_command, "Give a shell command.", "Put a command into it"},
    Advice{ErrorCode::invalid_path,
           "Give another path, e.g. /home/user/NAME in the sandbox, or /NAME in the workspace.",
           "Take another path"},
    Advice{
        ErrorCode::not_found,
        "See what is there: glob_files in the sandbox, list_workspace_files in the workspace.",
        "Look with glob_files, or ls in bash_exec, what there is and what it is called; if it is "
        "yet to appear, wait for it in one bash_exec"},
    Advice{ErrorCode::is_directory, "Name a file in it.",
           "List the directory, and name a file in it"},
    Advice{ErrorCode::not_a_file, "Name a regular file; bash_exec can work with anything else.",
           "See with ls -l in bash_exec what it is"},
    Advice{ErrorCode::permission_denied,
           "Look at its mode and owner with ls -ld in bash_exec, or use a place under "
           "/home/user or /tmp.",
           "Use a place under /home/user or /tmp"},
    Advice{
        ErrorCode::text_not_found,
        "Read the file again and take the text from it as it stands there.",
        "Read the file again and copy the text from what it shows, or write the whole file anew"},
    Advice{ErrorCode::ambiguous_match,
           "Add lines around it until it is unique, or set replace_all.",
           "Read the file again and take in more lines around the one place that is meant"},
    Advice{ErrorCode::conflict, "Look at it as it is now, then decide again.",
           "Read again what is there now, and start from that"},
    Advice{ErrorCode::too_large, "Do it in smaller parts.", "Do it in smaller parts"},
    Advice{ErrorCode::no_space, "Delete what is not needed any more, or write less.",
           "Make room first"},
    Advice{ErrorCode::quota_exceeded,
           "Delete what is not needed any more, or ask the operator for more room.",
           "Make room first"},
    Advice{ErrorCode::busy, "Try again in a few seconds.",
           "Wait longer, do something else meanwhile, or end what keeps it busy"},
    Advice{ErrorCode::cancelled, "If it is still wanted, look how far it came, then call again.",
           "Do something shorter, or in parts"},
    Advice{ErrorCode::sandbox_unavailable,
           "The operator runs `berth doctor` on this host: it names what is missing.",
           "Nothing that you call here can mend it"},
    Advice{ErrorCode::session_lost,
           "Call again for a fresh sandbox; processes and what was outside the home are gone.",
           "Something in the call may be what ends the sandbox: do it in smaller steps"},
    Advice{ErrorCode::authentication_required,
           "The operator starts the server with a --principal that is not empty.",
           "Do without the workspace"},
    Advice{
        ErrorCode::backend_error,
        "Try again. If it stays, the operator ends the session with `berth sessions kill`, or runs "
        "`berth doctor`.",
        "Nothing that you call here is likely to mend it"},
    Advice{ErrorCode::unsupported,
           "Use another way: the descriptions of the tools say what they can do.",
           "Use another way"},
    Advice{ErrorCode::internal,
           "Try again. If it stays, tell the operator: the server's log on stderr has more.",
           "Try another way to the same end"},
};
static_assert(usual.size() == static_cast<std::size_t>(ErrorCode::internal) + 1);
static_assert(
    [] {
        for (std::size_t i = 0; i < usual.size(); ++i) {
            if (static_cast<std::size_t>(usual[i].code) != i) {
                return false;
            }
        }
        return true;
    }(),
    "in the order of the codes");

/// Where the usual advice would lead elsewhere.
struct ToolAdvice {
    std::string_view tools; ///< blanks around each
    Advice advice;
};

constexpr std::string_view of_jobs = " bash_input bash_kill bash_output ";
constexpr std::string_view of_the_workspace =
    " delete_workspace_file list_workspace_files load_from_workspace ";

constexpr std::array particular{
    ToolAdvice{
        of_jobs,
        {ErrorCode::not_found, "See with session_info which jobs there are.",
         "See with session_info which jobs there are; if it is not among them it is gone for "
         "good: run its command again with bash_exec"}},
    ToolAdvice{" bash_input ",
               {ErrorCode::conflict, "See with bash_output how far the job is.",
                "See with bash_output whether it still runs; a job that has ended, or whose input "
                "is closed, takes no more: start it again with bash_exec"}},
    ToolAdvice{" bash_input ",
               {ErrorCode::busy, "See with bash_output what the job does, then try again.",
                "See with bash_output what the job does: it does not read what it was sent"}},
    ToolAdvice{" bash_input ",
               {ErrorCode::unsupported, "Start it again with background and stdin_open.",
                "Start it again with bash_exec, background and stdin_open"}},
    ToolAdvice{of_the_workspace,
               {ErrorCode::not_found, "See with list_workspace_files what there is.",
                "Look with list_workspace_files what there is and what it is called"}},
    ToolAdvice{" delete_workspace_file ",
               {ErrorCode::is_directory, "Delete its files, which list_workspace_files shows.",
                "List its files with list_workspace_files, and delete each by itself"}},
    ToolAdvice{" save_to_workspace ",
               {ErrorCode::conflict, "Take another workspace_path, or set overwrite.",
                "Take another workspace_path, or set overwrite"}},
    ToolAdvice{" load_from_workspace ",
               {ErrorCode::conflict, "Load it again: it was replaced in the meantime.",
                "Wait until nobody saves there any more, or load its files one by one"}},
};

const Advice& advice_for(ErrorCode code, std::string_view tool)
{
    const std::string word = ' ' + std::string(tool) + ' ';
    const auto* const found = std::ranges::find_if(particular, [&](const ToolAdvice& row) {
        return row.advice.code == code && row.tools.find(word) != row.tools.npos;
    });
    return found == particular.end() ? usual.at(static_cast<std::size_t>(code)) : found->advice;
}

} // namespace

std::string hint_for(const Error& error, std::string_view tool, const tools::Dialect* dialect)
{
    return error.hint().empty() ? tools::in_words_of(dialect, advice_for(error.code(), tool).hint)
                                : error.hint();
}

std::string stop_repeating(const std::exception& failure, std::string_view tool,
                           std::uint64_t times, const tools::Dialect* dialect)
{
    const auto* error = dynamic_cast<const Error*>(&failure);
    const auto code = error != nullptr ? error->code() : ErrorCode::internal;
    // The error itself says "try again", and that may be right, only not at once.
    const bool may_pass = code == ErrorCode::busy;
    return "This same call has now failed " + std::to_string(times) +
           " times in a row with this same error, so do not send it again " +
           (may_pass ? "right away. " : "as it is. ") +
           tools::in_words_of(dialect, advice_for(code, tool).instead) +
           "; if that does not help either, tell the user what is in the way and ask.";
}

} // namespace berth::mcp

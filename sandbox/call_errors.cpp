#include "sandbox/call_errors.hpp"

#include "sandbox/exchange.hpp"
#include "sandbox/sandbox_calls.hpp"

#include <string>

namespace berth::sandbox {

using protocol::Operation;

std::string_view name_of(protocol::Operation operation) noexcept
{
    using protocol::Operation;
    switch (operation) {
    case Operation::ping:
        return "ping";
    case Operation::info:
        return "info";
    case Operation::execute:
        return "the command";
    case Operation::read_file:
        return "reading a file";
    case Operation::write_file:
        return "writing a file";
    case Operation::edit_file:
        return "editing a file";
    case Operation::patch_files:
        return "patching files";
    case Operation::glob:
        return "finding files";
    case Operation::grep:
        return "searching files";
    case Operation::export_files:
        return "taking files out";
    case Operation::import_files:
        return "bringing files in";
    case Operation::shutdown:
        return "the shutdown";
    case Operation::job_output:
        return "reading a job's output";
    case Operation::job_input:
        return "writing to a job";
    case Operation::job_kill:
        return "ending a job";
    case Operation::pause:
        return "pausing";
    case Operation::resume:
        return "waking";
    case Operation::change_terms:
        return "changing its limits";
    case Operation::retire:
        return "its end";
    case Operation::sync:
        return "writing to the disk";
    case Operation::recall:
        return "asking for an answer";
    }
    return "a call";
}

void throw_lost(const Error& error, Operation operation)
{
    // That the sandbox is lost, whoever shows this to the agent says.
    throw Error(ErrorCode::session_lost,
                std::string(name_of(operation)) + " was cut off: " + error.what(),
                "what the call had done until then is not known");
}

void throw_left(bool has_begun)
{
    if (!has_begun) {
        throw Error(ErrorCode::cancelled, "the client left before the command began", not_begun);
    }
    throw Error(ErrorCode::cancelled, "the client left; the command goes on as a job",
                "session_info in the same session names it, unless the sandbox ends with its last "
                "client (session.on_disconnect = kill, or a session without a name).");
}

void throw_not_asked(const Error& error, Operation operation)
{
    throw Error(ErrorCode::backend_error,
                std::string(name_of(operation)) +
                    " was cut off, and the sandbox's guest cannot be asked what became of it: " +
                    error.what(),
                "It may have been done, or may go on: look before you repeat it. A later result "
                "tells what a command came to.");
}

void throw_unknown(const Error& error, Operation operation)
{
    if (tells_of_a_loss(error)) {
        throw_lost(error, operation);
    }
    throw_not_asked(error, operation); // of a machine that may well live
}

/// The guest has not had the end of the request, and acts on no half of it.
void throw_not_sent(const Error& error, Operation operation)
{
    throw Error(Error(ErrorCode::backend_error,
                      std::string(name_of(operation)) + " could not be sent: " + error.what(),
                      "Nothing of it was done: call again.")
                    .set_retryable(true));
}

/// Where it may have been done, who cancelled it is told so.
void throw_not_confirmed(const Error& error)
{
    throw Error(ErrorCode::cancelled,
                std::string("the call was cancelled, and the sandbox could not be told so: ") +
                    error.what(),
                "What it began goes on until the next call reaches the sandbox: look before you "
                "repeat it.");
}

/// Data that was given once cannot be given again; the guest acts on no half of it.
void throw_data_lost()
{
    throw Error(Error(ErrorCode::backend_error,
                      "the connection to the sandbox broke before the call had begun there",
                      "Nothing of it was done: call again.")
                    .set_retryable(true));
}

/// Of a call that only looks: whatever became of it, the sandbox is as it was, and may well live.
void throw_not_read(const Error& error, Operation operation)
{
    throw Error(Error(ErrorCode::backend_error,
                      std::string(name_of(operation)) + " was cut off: " + error.what(),
                      "Nothing was changed in the sandbox: call again.")
                    .set_retryable(true));
}

/// Nobody has cancelled it, though that is what the guest says: it ended it for want of a
/// connection, or of data.
void throw_broke_off(const Error& error, bool imports)
{
    throw Error(ErrorCode::backend_error,
                "the connection to the sandbox broke, and the call ended before it was done",
                imports ? "A file that had arrived whole is in place; the others are as they were: "
                          "look, or load again."
                        : error.hint());
}

} // namespace berth::sandbox

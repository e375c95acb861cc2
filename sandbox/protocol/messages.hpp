#pragma once

// What host and guest say to each other, one struct per request and reply. Paths are bytes as the
// kernel takes them, not necessarily UTF-8. Times are milliseconds, sizes bytes. Field numbers are
// for ever; new fields get new numbers.

#include "sandbox/protocol/messages/event.hpp"
#include "sandbox/protocol/messages/execute.hpp"
#include "sandbox/protocol/messages/files.hpp"
#include "sandbox/protocol/messages/info.hpp"
#include "sandbox/protocol/messages/jobs.hpp"
#include "sandbox/protocol/messages/limit_hits.hpp"
#include "sandbox/protocol/messages/patch.hpp"
#include "sandbox/protocol/messages/pause.hpp"
#include "sandbox/protocol/messages/protection.hpp"
#include "sandbox/protocol/messages/search.hpp"
#include "sandbox/protocol/messages/terms.hpp"
#include "sandbox/protocol/messages/transfer.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace berth::protocol {

enum class Operation : std::uint16_t {
    ping = 1,
    info = 2,
    execute = 3,
    read_file = 4,
    write_file = 5,
    edit_file = 6,
    glob = 7,
    grep = 8,
    export_files = 9,  ///< guest -> host: data frames (see transfer.hpp) before the reply
    import_files = 10, ///< host -> guest: data frames (see transfer.hpp) after the request
    shutdown = 11,     ///< ends the machine: the reply is sent first
    job_output = 12,
    job_input = 13,
    job_kill = 14,
    patch_files = 16,
    pause = 17,
    resume = 18,
    change_terms = 19, ///< Terms both ways
    retire = 20,       ///< RetireRequest: as shutdown; Error(busy) while somebody works there
    recall = 21,       ///< CallName: answered as the call of that name, or Error(not_found)
    sync = 22,         ///< SyncReply: what was written is on the machine's disk
};

/// The last that this release knows.
inline constexpr Operation newest_operation = Operation::sync;

/// Operations that are about the machine and do nothing in it: they neither wake one that is paused
/// nor keep one awake, and who has asked for nothing else is no client.
[[nodiscard]] constexpr bool only_manages(Operation operation) noexcept
{
    return operation == Operation::ping || operation == Operation::info ||
           operation == Operation::shutdown || operation == Operation::pause ||
           operation == Operation::resume || operation == Operation::change_terms ||
           operation == Operation::retire || operation == Operation::sync;
}

/// Sent in an error frame; mirrors berth::Error.
struct ErrorMessage {
    std::string code;
    std::string message;
    std::string hint;
    bool retryable = false;
    std::map<std::string, std::string> details;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.code);
        field(2, self.message);
        field(3, self.hint);
        field(4, self.retryable);
        field(5, self.details);
    }
};

struct Empty {
    template <class Self, class Field>
    static void fields(Self& /*self*/, Field&& /*field*/)
    {
    }
};

struct RetireRequest {
    /// Only another client keeps the machine; else a call and a job do too.
    bool with_jobs = false;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.with_jobs);
    }
};

struct SyncReply {
    std::uint32_t file_systems = 0; ///< that were written

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1, self.file_systems);
    }
};

} // namespace berth::protocol

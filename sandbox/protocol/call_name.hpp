#pragma once

#include "sandbox/protocol/messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::protocol {

/// What a call is called, however often it is sent (docs/adr/0017-named-calls.md). It stands in the
/// request, behind the fields of the operation, which leave this number to it: a guest of a release
/// that knew no names skips it. Alone, it is the request of Operation::recall.
struct CallName {
    static constexpr std::size_t size = 32;

    /// That many hex digits, at random, or of a request of a client's its id and the number of the
    /// call within it; empty: none.
    std::string name;

    template <class Self, class Field>
    static void fields(Self& self, Field&& field)
    {
        field(1000, self.name);
    }
};

/// A key of the details of the error to a recall of a call that never came: any other error is that
/// call's answer.
inline constexpr const char* unknown_call = "unknown_call";

/// Whether a call of this operation has a name: done twice it is not what it is done once.
[[nodiscard]] constexpr bool is_named(Operation operation) noexcept
{
    return operation == Operation::execute || operation == Operation::write_file ||
           operation == Operation::edit_file || operation == Operation::patch_files ||
           operation == Operation::import_files || operation == Operation::job_input ||
           operation == Operation::job_kill;
}

/// Whether one may have a name, and is answered again by it then: who asks for what nobody has
/// seen, or how a job ended, has to say that it was had, and without a name can only do so on the
/// same connection.
[[nodiscard]] constexpr bool may_be_named(Operation operation) noexcept
{
    return is_named(operation) || operation == Operation::info ||
           operation == Operation::job_output;
}

/// Whether a call of this operation changes nothing, so that it may be made again without a name.
[[nodiscard]] constexpr bool only_reads(Operation operation) noexcept
{
    return operation == Operation::ping || operation == Operation::info ||
           operation == Operation::read_file || operation == Operation::glob ||
           operation == Operation::grep || operation == Operation::export_files ||
           operation == Operation::job_output || operation == Operation::sync;
}

[[nodiscard]] inline bool is_call_name(std::string_view name) noexcept
{
    return name.size() == CallName::size && std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

} // namespace berth::protocol

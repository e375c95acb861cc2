#pragma once

#include "sandbox/base/error.hpp"
#include "tests/unit/guest/exec/command_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace berth::guest::test {

inline protocol::ExecuteRequest in_background(const std::string& command,
                                              std::uint64_t timeout = 20'000)
{
    auto request = Guest::request(command, timeout);
    request.background = true;
    return request;
}

/// Waits for the answer.
inline protocol::JobOutputReply output(Guest& guest, const std::string& job,
                                       const std::string& cursor = "", std::uint64_t wait = 0,
                                       const std::string& filter = "")
{
    protocol::JobOutputRequest request;
    request.job_id = job;
    request.cursor = cursor;
    request.wait = wait;
    request.filter = filter;
    request.head_limit = 6000;
    request.tail_limit = 4000;
    bool done = false;
    protocol::JobOutputReply result;
    std::exception_ptr failed;
    guest.commands->job_output(request,
                               [&](protocol::JobOutputReply reply, std::exception_ptr error) {
                                   result = std::move(reply);
                                   failed = std::move(error);
                                   done = true;
                               });
    REQUIRE(guest.until([&] { return done; }));
    if (failed) {
        std::rethrow_exception(failed);
    }
    return result;
}

inline protocol::JobKillReply kill(Guest& guest, const std::string& job, int signal,
                                   std::uint64_t grace = 500)
{
    bool done = false;
    protocol::JobKillReply result;
    guest.commands->job_kill({job, signal, grace},
                             [&](protocol::JobKillReply reply, const std::exception_ptr&) {
                                 result = std::move(reply);
                                 done = true;
                             });
    REQUIRE(guest.until([&] { return done; }));
    return result;
}

template <class Function>
ErrorCode code_of(Function function)
{
    try {
        function();
    } catch (const Error& error) {
        CHECK(!error.hint().empty());
        return error.code();
    }
    return ErrorCode::internal;
}

} // namespace berth::guest::test

#pragma once

#include <string>
#include <string_view>

// Bytes of the official JavaScript client 2.51.0 and of what answered it, as they were captured.

namespace berth::tests::golden {

using namespace std::string_view_literals;

/// Start of `echo hi`, whose request was these bytes.
inline constexpr std::string_view start_request =
    "\x00\x00\x00\x00\x4a"
    R"({"process":{"cmd":"/bin/bash","args":["-l","-c","echo hi"]},"stdin":false})"sv;

/// Its answer, without the chunks around it.
inline constexpr std::string_view start_answer =
    "\x00\x00\x00\x00\x21"
    R"({"event":{"start":{"pid":16274}}})"
    "\x00\x00\x00\x00\x24"
    R"({"event":{"data":{"stdout":"aGkK"}}})"
    "\x00\x00\x00\x00\x3a"
    R"({"event":{"end":{"exited":true,"status":"exit status 0"}}})"
    "\x02\x00\x00\x00\x02{}"sv;

/// Events of other processes.
inline constexpr std::string_view error_output = "\x00\x00\x00\x00\x28"
                                                 R"({"event":{"data":{"stderr":"ZXJyCg=="}}})"sv;
inline constexpr std::string_view quiet = "\x00\x00\x00\x00\x1a"
                                          R"({"event":{"keepalive":{}}})"sv;
inline constexpr std::string_view exit_3 =
    "\x00\x00\x00\x00\x5f"
    R"({"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}}})"sv;
inline constexpr std::string_view killed =
    "\x00\x00\x00\x00\x54"
    R"({"event":{"end":{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}}})"sv;
inline constexpr std::string_view last_with_error =
    "\x02\x00\x00\x00\x4c"
    R"({"error":{"code":"deadline_exceeded","message":"context deadline exceeded"}})"sv;

inline constexpr std::string_view send_input =
    R"({"process":{"pid":16521},"input":{"stdin":"cGluZwo="}})";
inline constexpr std::string_view close_stdin = R"({"process":{"pid":16521}})";
inline constexpr std::string_view send_signal =
    R"({"process":{"pid":16598},"signal":"SIGNAL_SIGKILL"})";
inline constexpr std::string_view list_answer =
    R"({"processes":[{"config":{"cmd":"/bin/bash","args":["-l","-c","sleep 30"]},"pid":16598}]})";
inline constexpr std::string_view gone =
    R"({"sandboxId":"ig4bk8uibgn9atxd3rgqg","message":"The sandbox was not found","code":502})";

inline constexpr std::string_view box =
    R"({"templateID":"base","sandboxID":"ig4bk8uibgn9atxd3rgqg","clientID":"6532622b","envdVersion":"0.6.13","envdAccessToken":"ea_93d6cf6d66c2900e6b07642dca728ab6","trafficAccessToken":null,"domain":null})";
inline constexpr std::string_view info =
    R"({"templateID":"base","sandboxID":"ig4bk8uibgn9atxd3rgqg","clientID":"6532622b","envdVersion":"0.6.13","envdAccessToken":"ea_93d6cf6d66c2900e6b07642dca728ab6","domain":null,"startedAt":"2026-11-20T11:31:35.992Z","endAt":"2026-11-20T11:33:35.992Z","state":"paused","cpuCount":2,"memoryMB":512,"diskSizeMB":1024,"metadata":{"a":"b c"},"lifecycle":{"autoResume":true,"onTimeout":"pause"}})";
inline constexpr std::string_view already_paused =
    R"({"code":409,"message":"Error pausing sandbox - sandbox 'ig4bk8uibgn9atxd3rgqg' is already paused"})";
inline constexpr std::string_view no_sandbox =
    R"({"code":404,"message":"Sandbox \"ig4bk8uibgn9atxd3rgqg\" doesn't exist or you don't have access to it"})";

} // namespace berth::tests::golden

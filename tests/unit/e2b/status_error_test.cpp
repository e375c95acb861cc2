#include "sandbox/e2b/status_error.hpp"
#include "tests/unit/e2b/golden.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using berth::Error;
using berth::ErrorCode;
using berth::e2b::Asked;
using berth::e2b::control_plane_error;
using berth::e2b::envd_error;
using berth::e2b::HttpHeaders;
using berth::e2b::HttpReply;
using berth::e2b::leaves_open;
using berth::e2b::OutcomeUnknown;
using berth::e2b::quotable;
using berth::e2b::StatusError;
using berth::e2b::stream_error;
namespace golden = berth::tests::golden;

namespace {

const Asked asked{
    .what = "pause a sandbox", .where = "https://api.e2b.app", .secrets = {"e2b_0123456789"}};

HttpReply answer(int status, std::string_view body, HttpHeaders headers = {})
{
    return {{.status = status, .headers = std::move(headers)}, std::string(body)};
}

ErrorCode code_of(int status, std::string_view body = {}, HttpHeaders headers = {})
{
    return control_plane_error(asked, answer(status, body, std::move(headers)), false).code();
}

ErrorCode envd_code_of(int status, std::string_view body = {})
{
    return envd_error(asked, answer(status, body)).code();
}

} // namespace

TEST_CASE("each status of the control plane has its code")
{
    CHECK(code_of(400) == ErrorCode::invalid_argument);
    CHECK(code_of(401) == ErrorCode::authentication_required);
    CHECK(code_of(403) == ErrorCode::permission_denied);
    CHECK(code_of(404) == ErrorCode::not_found);
    CHECK(code_of(405) == ErrorCode::unsupported);
    CHECK(code_of(413) == ErrorCode::too_large);
    CHECK(code_of(500) == ErrorCode::backend_error);
    CHECK(code_of(502) == ErrorCode::sandbox_unavailable);
    CHECK(code_of(503) == ErrorCode::sandbox_unavailable);
    CHECK(code_of(504) == ErrorCode::sandbox_unavailable);
    CHECK(code_of(507) == ErrorCode::no_space);
    CHECK(code_of(302) == ErrorCode::backend_error);
    CHECK(code_of(418) == ErrorCode::backend_error);
}

TEST_CASE("every error says what was asked, of whom, what came, and what to do")
{
    for (const int status :
         {302, 400, 401, 403, 404, 405, 409, 413, 429, 500, 502, 503, 504, 507}) {
        CAPTURE(status);
        const auto error = control_plane_error(asked, answer(status, "{}"), true);
        const std::string said = error.what();
        CHECK(said.find("could not pause a sandbox") != std::string::npos);
        CHECK(said.find("https://api.e2b.app") != std::string::npos);
        CHECK(said.find(std::to_string(status)) != std::string::npos);
        CHECK_FALSE(error.hint().empty());
        CHECK(error.status() == status);
    }
}

TEST_CASE("a 404 about a sandbox is the proof that it is gone")
{
    const auto error = control_plane_error(asked, answer(404, golden::no_sandbox), true);
    CHECK(error.code() == ErrorCode::session_lost);
    CHECK(std::string(error.what()).find("doesn't exist") != std::string::npos);
}

TEST_CASE("a 404 of somebody else's about a sandbox says nothing of it")
{
    for (const std::string_view body :
         {"<html>Not Found</html>", "404 page not found", "", "{}", R"({"message":"Not Found"})",
          R"({"code":404,"message":"no matching operation was found"})"}) {
        CAPTURE(body);
        const auto error = control_plane_error(asked, answer(404, body), true);
        CHECK(error.code() == ErrorCode::sandbox_unavailable);
        CHECK(error.retryable());
    }
}

TEST_CASE("what a gateway says leaves open what was done behind it")
{
    for (const int status : {408, 499, 500, 501, 502, 503, 504, 507, 520}) {
        CAPTURE(status);
        CHECK(leaves_open(envd_error(asked, answer(status, "<html></html>"))));
        CHECK(leaves_open(envd_error(asked, answer(status, R"({"code":"unavailable"})"))));
    }
    for (const int status : {301, 400, 401, 403, 404, 409, 413, 429}) {
        CHECK_FALSE(leaves_open(envd_error(asked, answer(status, "<html></html>"))));
    }
    const std::string_view said =
        R"({"sandboxId":"x","message":"The sandbox was not found","code":502})";
    CHECK_FALSE(leaves_open(envd_error(asked, answer(502, said)))); // so it was passed on to nobody
    CHECK(leaves_open(envd_error(asked, answer(503, said))));
    CHECK(leaves_open(envd_error(asked, answer(502, "The sandbox was not found"))));
}

TEST_CASE("how a stream ended before it began leaves open whether the process did")
{
    const auto ended = [](const std::string& word) {
        return *stream_error(asked, R"({"error":{"code":")" + word + "\"}}");
    };
    for (const auto* word : {"canceled", "unknown", "internal", "unavailable", "deadline_exceeded",
                             "aborted", "no word of Connect's"}) {
        CAPTURE(word);
        CHECK(leaves_open(ended(word)));
    }
    for (const auto* word : {"invalid_argument", "not_found", "permission_denied",
                             "unauthenticated", "resource_exhausted", "unimplemented"}) {
        CAPTURE(word);
        CHECK_FALSE(leaves_open(ended(word)));
    }
}

TEST_CASE("a conflict that passes is busy, any other is not to be tried again as it is")
{
    const auto of = [](const std::string& message) {
        return control_plane_error(
            asked, answer(409, R"({"code":409,"message":")" + message + "\"}"), true);
    };
    for (const std::string message :
         {"Sandbox 'x' is being paused", "Sandbox 'x' cannot be paused while in the 'y' state",
          "The sandbox is still transitioning. Try again in a moment."}) {
        CHECK(of(message).code() == ErrorCode::busy);
        CHECK(of(message).retryable());
    }
    CHECK(of("Sandbox x is already running").code() == ErrorCode::conflict);
    CHECK_FALSE(of("Sandbox x is already running").retryable());
}

TEST_CASE("a 429 that says when is of a rate, one that does not is of a quota")
{
    CHECK(code_of(429, R"({"code":429,"message":"Rate limit exceeded"})", {{"retry-after", "3"}}) ==
          ErrorCode::busy);
    CHECK(code_of(429, R"({"code":429,"message":"you have reached the maximum number"})") ==
          ErrorCode::quota_exceeded);
    for (const auto* const when : {"Wed, 21 Oct 2026 07:28:00 GMT", "99999999", "soon"}) {
        CHECK(code_of(429, R"({"code":429})", {{"retry-after", when}}) == ErrorCode::busy);
    }
    // Nor is a proxy's, which counts requests and no sandboxes.
    for (const auto* const page : {"", "<html>", "slow down", R"({"message":"slow down"})"}) {
        CAPTURE(page);
        CHECK(code_of(429, page) == ErrorCode::busy);
    }
}

TEST_CASE("when a 429 is to be asked again is told in seconds or by a date")
{
    const auto wait_of = [](const std::string& when, const std::string& date) {
        berth::e2b::HttpHead head;
        head.headers = {{"retry-after", when}, {"date", date}};
        return berth::e2b::retry_after_of(head);
    };
    const std::string now = "Wed, 21 Oct 2026 07:28:00 GMT";
    CHECK(wait_of("17", now) == 17s);
    CHECK(wait_of("Wed, 21 Oct 2026 07:28:17 GMT", now) == 17s);
    CHECK(wait_of("Wed, 21 Oct 2026 07:27:00 GMT", now) == 0s);
    CHECK(wait_of("Sat, 21 Oct 2000 07:27:00 GMT", "") == 0s); // by this host's clock
    CHECK_FALSE(wait_of("Fri, 23 Oct 2026 07:28:00 GMT", now));
    CHECK_FALSE(wait_of("soon", now));
}

TEST_CASE("a body may be JSON, text, HTML, nothing or nonsense")
{
    const auto said = [](std::string_view body) {
        return std::string(control_plane_error(asked, answer(502, body), false).what());
    };
    CHECK(said(golden::gone).find("The sandbox was not found") != std::string::npos);
    CHECK(said("upstream request timeout\n").ends_with("502: upstream request timeout"));
    CHECK(said("\r\n <html><body>" + std::string(100'000, 'x')).find("HTML") != std::string::npos);
    CHECK(said("<html>").find("<html>") == std::string::npos);
    CHECK(said("").ends_with("without a reason"));
    CHECK(said("  \n").ends_with("without a reason"));
    CHECK(said("{\"message\":7}").ends_with("without a reason"));
    CHECK(said("[1,2]").ends_with("[1,2]"));
    CHECK(said("\x1b[2J\xff").find('\x1b') == std::string::npos);
    CHECK(said(std::string(1'000'000, '[')).size() < 500);
    CHECK(said(R"({"message":")" + std::string(5000, 'm') + "\"}").size() < 500);
}

TEST_CASE("a secret that a server quotes is in no message, whole or cut")
{
    const std::string key = "e2b_0123456789";
    CHECK(quotable("a " + key + " b " + key, {key}) == "a [hidden] b [hidden]");
    const auto cut = quotable(std::string(295, 'x') + key, {key});
    CHECK(cut.find("e2b_") == std::string::npos);
    CHECK(quotable("a b", {"", "a"}) == "a b"); // none that is too short to be one
    CHECK(quotable("two\nlines\r\n", {}) == "two lines");
    const auto error = control_plane_error(
        asked, answer(401, R"({"code":401,"message":"Invalid API key e2b_0123456789"})"), false);
    CHECK(std::string(error.what()).find(key) == std::string::npos);
    CHECK(std::string(error.what()).find("Invalid API key") != std::string::npos);
}

TEST_CASE("envd's words count, and else the status of the proxies")
{
    CHECK(envd_code_of(404, R"({"code":"not_found","message":"process not found"})") ==
          ErrorCode::not_found);
    CHECK(envd_code_of(400, R"({"code":"invalid_argument","message":"x"})") ==
          ErrorCode::invalid_argument);
    CHECK(envd_code_of(400, R"({"code":"failed_precondition","message":"x"})") ==
          ErrorCode::invalid_argument);
    CHECK(envd_code_of(401, R"({"code":"unauthenticated","message":"x"})") ==
          ErrorCode::authentication_required);
    CHECK(envd_code_of(500, R"({"code":"new_word","message":"x"})") == ErrorCode::backend_error);
    CHECK(envd_code_of(401, R"({"code":401,"message":"error looking up user 'x'"})") ==
          ErrorCode::invalid_argument);
    CHECK(envd_code_of(401, R"({"code":"unauthenticated","message":"invalid username: 'x'"})") ==
          ErrorCode::invalid_argument);
    CHECK(envd_code_of(401, R"({"code":401,"message":"unauthorized access"})") ==
          ErrorCode::authentication_required);
    CHECK(envd_code_of(403, R"({"message":"can't be resumed with the credentials"})") ==
          ErrorCode::authentication_required);
    CHECK(envd_code_of(404, R"({"code":404,"message":"path '/x' does not exist"})") ==
          ErrorCode::not_found);
    CHECK(envd_code_of(502, golden::gone) == ErrorCode::sandbox_unavailable);
    CHECK(envd_code_of(502, "<html>") == ErrorCode::sandbox_unavailable);
    CHECK(envd_code_of(507) == ErrorCode::no_space);
    CHECK(envd_code_of(409, R"({"message":"The sandbox is still transitioning."})") ==
          ErrorCode::busy);
    CHECK(envd_code_of(429, R"({"message":"Sandbox limit reached"})") == ErrorCode::quota_exceeded);
    const auto word = envd_error(asked, answer(404, R"({"code":"not_found","message":"m"})"));
    CHECK(word.word() == "not_found");
    CHECK(word.status() == 404);
}

TEST_CASE("each word of the protocol has its code")
{
    const auto of = [](const std::string& word) {
        return stream_error(asked, R"({"error":{"code":")" + word + R"(","message":"m"}})")
            .value()
            .code();
    };
    CHECK(of("canceled") == ErrorCode::cancelled);
    CHECK(of("unknown") == ErrorCode::backend_error);
    CHECK(of("deadline_exceeded") == ErrorCode::sandbox_unavailable);
    CHECK(of("not_found") == ErrorCode::not_found);
    CHECK(of("already_exists") == ErrorCode::conflict);
    CHECK(of("permission_denied") == ErrorCode::permission_denied);
    CHECK(of("resource_exhausted") == ErrorCode::quota_exceeded);
    CHECK(of("aborted") == ErrorCode::conflict);
    CHECK(of("out_of_range") == ErrorCode::invalid_argument);
    CHECK(of("unimplemented") == ErrorCode::unsupported);
    CHECK(of("internal") == ErrorCode::backend_error);
    CHECK(of("unavailable") == ErrorCode::sandbox_unavailable);
    CHECK(of("unauthenticated") == ErrorCode::authentication_required);
}

TEST_CASE("the end of a stream tells an error or none")
{
    CHECK_FALSE(stream_error(asked, "{}"));
    CHECK_FALSE(stream_error(asked, R"({"metadata":{"a":["b"]}})"));
    CHECK_FALSE(stream_error(asked, R"({"error":null})"));
    const auto error = stream_error(asked, golden::last_with_error.substr(5));
    REQUIRE(error);
    CHECK(error->word() == "deadline_exceeded");
    CHECK(error->status() == 200);
    CHECK(std::string(error->what()).find("context deadline exceeded") != std::string::npos);
    CHECK(stream_error(asked, R"({"error":"what"})"));
    for (const std::string nonsense : {"", "x", "[]", "7"}) {
        CAPTURE(nonsense);
        CHECK(berth::tests::error_of([&] { static_cast<void>(stream_error(asked, nonsense)); }) ==
              ErrorCode::backend_error);
    }
}

TEST_CASE("an unknown outcome has its cause's code, and is not to be tried again")
{
    const auto cause = control_plane_error(asked, answer(503, ""), false);
    CHECK(cause.retryable());
    const OutcomeUnknown unknown(cause, "who knows", "look", /*late=*/true);
    CHECK(unknown.is_late());
    CHECK(unknown.code() == ErrorCode::sandbox_unavailable);
    CHECK_FALSE(unknown.retryable());
    CHECK(std::string(unknown.what()).find("503") != std::string::npos);
}

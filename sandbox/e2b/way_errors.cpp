#include "sandbox/e2b/way_errors.hpp"

#include "sandbox/e2b/http.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace berth::e2b {
namespace {

constexpr int too_many = 429;

constexpr std::array words_of_the_way{ErrorCode::authentication_required,
                                      ErrorCode::backend_error,
                                      ErrorCode::busy,
                                      ErrorCode::cancelled,
                                      ErrorCode::permission_denied,
                                      ErrorCode::quota_exceeded,
                                      ErrorCode::sandbox_unavailable,
                                      ErrorCode::session_lost};

/// Who asks again asks a machine that is there, or makes another where there is none.
Error unanswered(const HttpFailure& failure)
{
    std::string hint = "Nothing of this call was done: try again.";
    hint += failure.hint().empty() ? "" : " If that lasts: " + failure.hint();
    return Error(Error(ErrorCode::sandbox_unavailable, failure.what(), hint).set_retryable(true));
}

} // namespace

Error as_of_the_way(const Error& error)
{
    if (const auto* const failure = dynamic_cast<const HttpFailure*>(&error);
        failure != nullptr && failure->code() == ErrorCode::sandbox_unavailable) {
        return unanswered(*failure);
    }
    const bool may_be_told = std::find(words_of_the_way.begin(), words_of_the_way.end(),
                                       error.code()) != words_of_the_way.end();
    return may_be_told ? error
                       : Error(ErrorCode::backend_error, error.what(),
                               "Nothing of this call was done. It is E2B that refuses it, or what "
                               "stands on the way there: tell the operator if that lasts.");
}

Error not_woken(const Error& error, bool runs)
{
    constexpr const char* asleep = "the sandbox could not be woken: ";
    constexpr const char* awake = "the sandbox could not be given more time: ";
    auto told = as_of_the_way(error);
    if (told.code() != ErrorCode::sandbox_unavailable && told.code() != ErrorCode::busy) {
        return told;
    }
    Error waited(
        told.code(), std::string(runs ? awake : asleep) + told.what(),
        "Nothing of this call was done: try again. A call waits for that as long as its own "
        "time and 15 s more, a minute at most.");
    return Error(waited.with_details_of(told).set_retryable(true));
}

Error as_of_envd(const StatusError& refusal)
{
    constexpr const char* not_done = "Nothing of this call was done.";
    if (refusal.status() == too_many) {
        Error error(ErrorCode::busy, refusal.what(),
                    std::string(not_done) + " Try again after some seconds.");
        if (const auto wait = refusal.retry_after()) {
            error.with_detail("retry_after", std::to_string(wait->count()));
        }
        return error;
    }
    if (refusal.code() == ErrorCode::sandbox_unavailable || refusal.code() == ErrorCode::busy) {
        return Error(static_cast<const Error&>(refusal)); // of a status nobody asks further
    }
    return {ErrorCode::backend_error, refusal.what(),
            std::string(not_done) + " It is no fault of its arguments: tell the operator if that "
                                    "lasts."};
}

} // namespace berth::e2b

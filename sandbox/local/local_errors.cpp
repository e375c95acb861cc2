#include "sandbox/local/local_errors.hpp"

#include "sandbox/local/failure.hpp"
#include "sandbox/state_directory.hpp"

#include <utility>

namespace berth::local {

Error unavailable(const Blocker& blocker)
{
    return {ErrorCode::sandbox_unavailable, "no sandbox can be made: " + blocker.reason,
            blocker.remedy};
}

Error unavailable(const std::system_error& error)
{
    if (auto full = sandbox::full_disk(error.code().value(), "no sandbox can be made")) {
        return *std::move(full);
    }
    auto [reason, remedy] = explain(to_result(error, "server"), "");
    if (remedy.empty() && error.code().category() == std::generic_category()) {
        remedy = errno_error(error.code().value(), reason).hint();
    }
    return {ErrorCode::sandbox_unavailable, "no sandbox can be made: " + reason,
            remedy.empty() ? ask_doctor : std::move(remedy)};
}

Error unavailable(const CoversChanged& changed)
{
    return Error(ErrorCode::sandbox_unavailable,
                 std::string("no sandbox can be made: ") + changed.what(), "try again in a moment")
        .set_retryable(true);
}

Error cannot_tell(const std::exception& error)
{
    return Error(ErrorCode::backend_error,
                 std::string("it cannot be told whether the sandbox still runs: ") + error.what(),
                 "try again in a few seconds; `berth sessions kill` ends one that never answers")
        .set_retryable(true);
}

} // namespace berth::local

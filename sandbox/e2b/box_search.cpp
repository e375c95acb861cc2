#include "sandbox/e2b/box_search.hpp"

#include "sandbox/base/wait_bound.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "sandbox/e2b/way_errors.hpp"
#include "sandbox/left_behind.hpp"
#include "sandbox/wait_for.hpp"

#include <cstddef>
#include <exception>

namespace berth::e2b {

std::optional<BoxInfo> info_of(ApiClient& api, const std::string& id, std::chrono::seconds time)
{
    try {
        return api.info(id, Deadline::after(time));
    } catch (const StatusError& error) {
        if (error.code() != ErrorCode::session_lost) {
            throw;
        }
        return std::nullopt;
    }
}

std::optional<BoxInfo> find_box(Link& link, const BoxHome& home, std::chrono::seconds time)
{
    auto box = info_of(link.api, home.id, time);
    if (!box || !is_of(*box, home)) {
        link.accounts.require_word_on("the sandbox " + home.id, account_of(home));
        return std::nullopt;
    }
    if (!home.number.empty()) { // else any sandbox without one is like it
        link.accounts.note_seen(account_of(home));
        link.accounts.note_seen(account_in(home.number)); // as its metadata has it
    }
    return box;
}

std::vector<BoxInfo> look_for(ApiClient& api, const std::string& generation,
                              std::chrono::milliseconds late, const Deadline& deadline)
try {
    const Metadata wanted{{metadata_keys::generation, generation}};
    std::vector<BoxInfo> found;
    std::chrono::milliseconds waited{0};
    for (std::chrono::milliseconds rest{500};; waited += rest, rest *= 2) {
        found = api.list(wanted, deadline);
        if (!found.empty() || waited >= late || deadline.expired()) {
            return found;
        }
        sandbox::wait_for(rest, WaitBound::within(deadline, {}).stop);
    }
} catch (const Error& error) {
    throw sandbox::LeftBehind(error);
}

std::optional<BoxHome> home_made_by(ApiClient& api, const std::string& number,
                                    std::chrono::seconds time)
{
    const auto boxes = number.empty()
                           ? std::vector<BoxInfo>()
                           : api.list({{metadata_keys::generation, number}}, Deadline::after(time));
    return boxes.empty()
               ? std::nullopt
               : std::optional(BoxHome{.id = boxes.front().box.id, .number = number, .proof = {}});
}

Box make_box(ApiClient& api, const BoxRequest& request, std::chrono::milliseconds late,
             std::chrono::seconds time)
{
    const auto deadline = Deadline::after(time);
    try {
        return api.create(request, deadline);
    } catch (const OutcomeUnknown& unknown) {
        const auto found =
            look_for(api, request.metadata.at(metadata_keys::generation),
                     unknown.is_late() ? late : std::chrono::milliseconds(0), deadline);
        if (found.empty()) { // by then; the books keep its number, by which a later one is ended
            throw sandbox::LeftBehind(Error(ErrorCode::sandbox_unavailable, unknown.what(),
                                            "E2B knows of none by now: try again. One that comes "
                                            "late is ended before another is made.")
                                          .set_retryable(true));
        }
        for (std::size_t other = 1; other < found.size(); ++other) {
            try {
                static_cast<void>(api.kill(found[other].box.id, deadline));
            } catch (const Error&) { // NOLINT(bugprone-empty-catch): collected as a stray
            }
        }
        try {
            return api.connect(found.front().box.id, request.timeout, deadline).box;
        } catch (const Error& error) {
            throw sandbox::LeftBehind(as_of_the_way(error));
        }
    }
}

bool abandon(ApiClient& api, const std::string& id, const std::string& number,
             std::chrono::seconds time) noexcept
{
    try {
        if (!api.kill(id, Deadline::after(time))) {
            // Somebody else has ended it, or that was never its name: by its number it is certain.
            static_cast<void>(kill_all_of(api, number, time));
        }
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

bool kill_all_of(ApiClient& api, const std::string& number, std::chrono::seconds time,
                 const ApiClient::Right& may)
{
    const auto deadline = Deadline::after(time);
    const auto boxes = api.list({{metadata_keys::generation, number}}, deadline);
    for (const auto& box : boxes) {
        static_cast<void>(api.kill(box.box.id, deadline, {}, may));
    }
    return !boxes.empty();
}

void pause_if_possible(ApiClient& api, const std::string& id, std::chrono::seconds time) noexcept
{
    try {
        static_cast<void>(api.pause(id, Deadline::after(time)));
    } catch (const std::exception&) {
        return;
    }
}

} // namespace berth::e2b

#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/e2b/api_client.hpp"
#include "sandbox/e2b/box_home.hpp"
#include "sandbox/e2b/link.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace berth::e2b {

/// Neither wakes it nor extends its time. Nothing: E2B shows none to this key.
[[nodiscard]] std::optional<BoxInfo> info_of(ApiClient& api, const std::string& id,
                                             std::chrono::seconds time);

/// The same of what a home is in. Nothing: it is gone for certain. Throws as
/// Accounts::require_word_on() where it may be there for another key: taken for gone, its session
/// would get an empty sandbox in place of its files.
[[nodiscard]] std::optional<BoxInfo> find_box(Link& link, const BoxHome& home,
                                              std::chrono::seconds time);

/// The sandboxes of a creation of which no answer came, by its number. One of which nobody has said
/// that it failed may come for as long as E2B works at it: whoever looked once only would make a
/// second one, and leave the first to run. So it is looked for again until it is there, for as long
/// as `late`. Throws sandbox::LeftBehind.
[[nodiscard]] std::vector<BoxInfo> look_for(ApiClient& api, const std::string& generation,
                                            std::chrono::milliseconds late,
                                            const Deadline& deadline);

/// What a creation of that number has made; nothing where E2B shows none by now.
[[nodiscard]] std::optional<BoxHome> home_made_by(ApiClient& api, const std::string& number,
                                                  std::chrono::seconds time);

/// One that may have been made, and of which no answer came, is found by its number (`late`, as
/// above): else it would run, and cost, unknown; of several, as of a request that was sent twice on
/// its way, the others are ended. Throws as ApiClient::create(), and sandbox::LeftBehind where
/// there may be one all the same.
[[nodiscard]] Box make_box(ApiClient& api, const BoxRequest& request,
                           std::chrono::milliseconds late, std::chrono::seconds time);

/// Of what came to nothing. False where it may be there still: its time runs out, and the books
/// have its number for whoever comes next.
bool abandon(ApiClient& api, const std::string& id, const std::string& number,
             std::chrono::seconds time) noexcept;

/// Ends those of a number: nobody has used them yet, or may any more. False: there was none.
bool kill_all_of(ApiClient& api, const std::string& number, std::chrono::seconds time,
                 const ApiClient::Right& may = {});

/// Of one that was woken for nothing. Where it cannot be it sleeps when its time runs out.
void pause_if_possible(ApiClient& api, const std::string& id, std::chrono::seconds time) noexcept;

} // namespace berth::e2b

#include "tests/unit/guest/pause/situations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// Every event in every situation, with every policy: what is ordered, and what follows if nothing
// comes any more, by which what the controller keeps to itself is seen too.

namespace berth::guest::test {
namespace {

/// Situations | policies (on_disconnect/idle_pause) | what is ordered | what follows.
///
/// `freeze` and `thaw` are state and reason too: pausing for that reason, and awake. `paused` is no
/// order: what was pausing is, for the same reason. At `-` neither order nor change. `as a look`:
/// the event changes nothing, and all is as in the first part. `*` stands for any end or beginning.
///
/// `alone` is the second in which the client may come back, `settling` a pause that is asked for
/// and waits, `failed` the time after a freeze that did not succeed.
constexpr std::string_view table = R"(
== a look
fresh attended                                 | */5m                | - | freeze idle in 5m
fresh attended                                 | */0                 | - | nothing
attended+job attended+call                     | *                   | - | nothing
attended+settling                              | *                   | - | waits
attended+failed                                | */5m                | - | freeze idle in 5s
attended+failed                                | */0                 | - | nothing
alone                                          | now/* idle/5m       | - | freeze left in 1s
alone                                          | keep/* idle/0       | - | nothing
alone+job                                      | now/*               | - | freeze left in 1s
alone+job                                      | idle/* keep/*       | - | nothing
alone alone+job paused:asked+alone             | kill/*              | - | end in 1s
left left+job left+call                        | *                   | - | nothing
left+failed                                    | now/* idle/5m       | - | freeze left in 5s
left+failed                                    | keep/* idle/0       | - | nothing
pausing:* paused:asked paused:idle paused:left | *                   | - | nothing
paused:asked+left                              | *                   | - | nothing
paused:asked+alone                             | now/* idle/* keep/* | - | nothing

== a client comes
alone                                                  | */5m | - | freeze idle in 5m
alone                                                  | */0  | - | nothing
left left+failed                                       | */5m | - | freeze idle in 299s
left left+failed                                       | */0  | - | nothing
alone+job paused:asked+alone                           | *    | - | nothing
fresh attended* left+job left+call pausing:*           | *    | as a look
paused:asked paused:idle paused:left paused:asked+left | *    | as a look

== the client leaves
attended                                           | now/* idle/5m       | - | freeze left in 1s
attended+job                                       | now/*               | - | freeze left in 1s
attended+failed                                    | now/* idle/5m       | - | freeze left in 5s
attended attended+failed                           | keep/* idle/0       | - | nothing
attended* pausing:* paused:*                       | kill/*              | - | end in 1s
attended+job                                       | idle/* keep/*       | as a look
attended+call attended+settling pausing:* paused:* | now/* idle/* keep/* | as a look

== a call begins
fresh attended*                                | *                   | -    | nothing
alone alone+job                                | now/* idle/* keep/* | -    | nothing
alone alone+job                                | kill/*              | -    | end in 1s
left*                                          | *                   | -    | nothing
pausing:* paused:asked paused:idle paused:left | *                   | thaw | nothing
paused:asked+left                              | *                   | thaw | nothing
paused:asked+alone                             | now/* idle/* keep/* | thaw | nothing
paused:asked+alone                             | kill/*              | thaw | end in 1s

== a call begins and ends
attended+settling                         | */5m                | -    | waits
attended+settling                         | */0                 | -    | nothing
attended+failed                           | */5m                | -    | freeze idle in 5m
attended+failed                           | */0                 | -    | nothing
pausing:asked pausing:idle pausing:left   | */5m                | thaw | freeze idle in 5m
pausing:asked pausing:left                | */0                 | thaw | nothing
paused:asked paused:idle paused:left      | */5m                | thaw | freeze idle in 5m
paused:asked paused:left                  | */0                 | thaw | nothing
pausing:asked+left                        | now/5m idle/5m      | thaw | freeze idle in 5m
pausing:asked+left                        | keep/* now/0 idle/0 | thaw | nothing
paused:asked+alone paused:asked+left      | now/5m idle/5m      | thaw | freeze idle in 5m
paused:asked+alone paused:asked+left      | keep/* now/0 idle/0 | thaw | nothing
paused:asked+alone                        | kill/*              | thaw | end in 1s
fresh attended attended+job attended+call | *                   | as a look
alone alone+job left*                     | *                   | as a look

== the call ends
attended+call | */5m          | -           | freeze idle in 5m
attended+call | */0           | -           | nothing
left+call     | now/* idle/5m | freeze left | nothing
left+call     | keep/* idle/0 | -           | nothing

== a job begins
fresh attended attended+failed               | *                          | - | nothing
alone left+failed                            | idle/5m                    | - | nothing
alone left+failed                            | now/* keep/* kill/* idle/0 | as a look
attended+job attended+call attended+settling | *                          | as a look
alone+job left left+job left+call            | *                          | as a look
pausing:* paused:*                           | *                          | as a look

== the job ends
attended+job | */5m                       | -           | freeze idle in 5m
attended+job | */0                        | -           | nothing
alone+job    | idle/5m                    | -           | freeze left in 1s
alone+job    | now/* keep/* kill/* idle/0 | as a look
left+job     | idle/5m                    | freeze left | nothing
left+job     | keep/* idle/0              | -           | nothing

== something is to be settled
fresh attended attended+failed                     | */5m                 | - | waits
fresh attended attended+failed                     | */0                  | - | nothing
alone left+failed                                  | now/* idle/5m        | - | waits
alone left+failed                                  | keep/* kill/* idle/0 | as a look
alone+job                                          | now/*                | - | waits
alone+job                                          | idle/* keep/* kill/* | as a look
attended+job attended+call left left+job left+call | *                    | as a look
pausing:* paused:*                                 | *                    | as a look

== it is settled
attended+settling | * | freeze asked | nothing

== a pause is asked for
fresh attended attended+job attended+failed | * | - | freeze asked at once
alone alone+job left left+job left+failed   | * | - | freeze asked at once
attended+call left+call                     | * | - | nothing
attended+settling pausing:* paused:*        | * | as a look

== that is taken back
attended+settling                         | */5m | - | waits
attended+settling                         | */0  | - | nothing
fresh attended attended+job attended+call | *    | as a look
attended+failed alone alone+job left*     | *    | as a look
pausing:* paused:*                        | *    | as a look

== resume
attended+settling                         | */5m                | -    | waits
attended+settling                         | */0                 | -    | nothing
attended+failed                           | */5m                | -    | freeze idle in 5m
attended+failed                           | */0                 | -    | nothing
alone left+failed                         | now/5m idle/5m      | -    | freeze idle in 5m
alone left+failed                         | keep/* now/0 idle/0 | -    | nothing
alone+job                                 | now/* idle/* keep/* | -    | nothing
alone alone+job                           | kill/*              | -    | end in 1s
fresh attended attended+job attended+call | *                   | as a look
left left+job left+call                   | *                   | as a look
pausing:asked pausing:idle pausing:left   | */5m                | thaw | freeze idle in 5m
pausing:asked pausing:left                | */0                 | thaw | nothing
paused:asked paused:idle paused:left      | */5m                | thaw | freeze idle in 5m
paused:asked paused:left                  | */0                 | thaw | nothing
pausing:asked+left                        | now/5m idle/5m      | thaw | freeze idle in 5m
pausing:asked+left                        | keep/* now/0 idle/0 | thaw | nothing
paused:asked+alone paused:asked+left      | now/5m idle/5m      | thaw | freeze idle in 5m
paused:asked+alone paused:asked+left      | keep/* now/0 idle/0 | thaw | nothing
paused:asked+alone                        | kill/*              | thaw | end in 1s

== frozen
pausing:*                                      | * | paused | nothing
fresh attended* alone alone+job left* paused:* | * | as a look

== not frozen
pausing:asked                                  | */5m          | thaw | freeze idle in 5m
pausing:asked                                  | */0           | thaw | nothing
pausing:idle                                   | *             | thaw | freeze idle in 5s
pausing:left pausing:asked+left                | now/* idle/5m | thaw | freeze left in 5s
pausing:asked+left                             | keep/* idle/0 | thaw | nothing
fresh attended* alone alone+job left* paused:* | *             | as a look

== set now, set idle
fresh attended alone                            | */5m | - | freeze idle in 5m
fresh attended alone                            | */0  | - | nothing
attended+job attended+call                      | *    | - | nothing
attended+settling                               | *    | - | waits
attended+failed                                 | */5m | - | freeze idle in 5s
attended+failed                                 | */0  | - | nothing
left left+failed                                | */5m | - | freeze idle in 299s
left left+failed                                | */0  | - | nothing
alone+job left+job left+call pausing:* paused:* | *    | - | nothing

== set keep
fresh attended                           | */5m | - | freeze idle in 5m
fresh attended                           | */0  | - | nothing
attended+job attended+call               | *    | - | nothing
attended+settling                        | *    | - | waits
attended+failed                          | */5m | - | freeze idle in 5s
attended+failed                          | */0  | - | nothing
alone alone+job left* pausing:* paused:* | *    | - | nothing

== set kill
fresh attended                                         | */5m | - | freeze idle in 5m
fresh attended                                         | */0  | - | nothing
attended+job attended+call                             | *    | - | nothing
attended+settling                                      | *    | - | waits
attended+failed                                        | */5m | - | freeze idle in 5s
attended+failed                                        | */0  | - | nothing
left left+failed                                       | */5m | - | freeze idle in 299s
left left+failed                                       | */0  | - | nothing
left+job left+call pausing:*                           | *    | - | nothing
paused:asked paused:idle paused:left paused:asked+left | *    | - | nothing
alone alone+job paused:asked+alone                     | *    | - | end in 1s

== set 5m
fresh attended                                         | *                   | - | freeze idle in 5m
attended+job attended+call                             | *                   | - | nothing
attended+settling                                      | *                   | - | waits
attended+failed                                        | *                   | - | freeze idle in 5s
alone                                                  | now/* idle/*        | - | freeze idle in 5m
left left+failed                                       | now/* idle/*        | - | freeze idle in 299s
alone left left+failed                                 | keep/*              | - | nothing
alone+job paused:asked+alone                           | now/* idle/* keep/* | - | nothing
alone alone+job paused:asked+alone                     | kill/*              | - | end in 1s
left+job left+call pausing:*                           | *                   | - | nothing
paused:asked paused:idle paused:left paused:asked+left | *                   | - | nothing

== set 0
fresh attended attended+job attended+call              | *                   | - | nothing
attended+failed left* pausing:*                        | *                   | - | nothing
paused:asked paused:idle paused:left paused:asked+left | *                   | - | nothing
attended+settling                                      | *                   | - | waits
alone alone+job paused:asked+alone                     | now/* idle/* keep/* | - | nothing
alone alone+job paused:asked+alone                     | kill/*              | - | end in 1s
)";

struct Row {
    std::string text;
    std::vector<std::string> events;
    std::vector<std::string> situations;
    std::vector<std::string> policies;
    std::string order;
    std::string follows;
    bool used = false;
};

std::vector<std::string> parts_of(const std::string& text, std::string_view separator)
{
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(separator, begin), text.size());
        const auto first = text.find_first_not_of(' ', begin);
        if (first < end) {
            const auto last = text.find_last_not_of(' ', end - 1);
            parts.push_back(text.substr(first, last - first + 1));
        }
        begin = end + separator.size();
    }
    return parts;
}

std::vector<Row> rows_of_table()
{
    std::vector<Row> rows;
    std::vector<std::string> events;
    std::istringstream lines{std::string(table)};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("== ")) {
            events = parts_of(line.substr(3), ",");
        } else if (!line.empty()) {
            const auto cells = parts_of(line, "|");
            REQUIRE(cells.size() >= 3);
            rows.push_back({line, events, parts_of(cells[0], " "), parts_of(cells[1], " "),
                            cells[2], cells.size() > 3 ? cells[3] : ""});
        }
    }
    return rows;
}

bool fits(const std::string& pattern, std::string_view name)
{
    const auto star = pattern.find('*');
    if (star == std::string::npos) {
        return pattern == name;
    }
    return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
           name.ends_with(pattern.substr(star + 1));
}

bool fits(const std::vector<std::string>& patterns, std::string_view name)
{
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const auto& pattern) { return fits(pattern, name); });
}

/// The one row that says it.
Row& row_of(std::vector<Row>& rows, std::string_view event, std::string_view situation,
            std::string_view policy)
{
    Row* found = nullptr;
    for (auto& row : rows) {
        if (fits(row.events, event) && fits(row.situations, situation) &&
            fits(row.policies, policy)) {
            INFO("two rows say it: " << row.text);
            REQUIRE(found == nullptr);
            found = &row;
        }
    }
    REQUIRE_MESSAGE(found != nullptr, "no row says it");
    found->used = true;
    return found->order == "as a look" ? row_of(rows, "a look", situation, policy) : *found;
}

/// What the order makes of `before`, as PauseRig::state() has it.
std::string after(const std::string& before, const std::string& order)
{
    if (order == "thaw") {
        return "awake";
    }
    if (order == "paused") {
        return "paused" + before.substr(before.find(':'));
    }
    return order.starts_with("freeze ") ? "pausing: " + order.substr(order.find(' ') + 1) : before;
}

/// Who asks comes when what is due at once is done, and waiting for something to be settled has no
/// end that is known.
bool is_told(const std::string& follows)
{
    return follows != "waits" && !follows.ends_with(" at once");
}

/// "freeze left in 1s" -> "freeze in 1s".
std::string without_reason(const std::string& follows)
{
    const auto parts = parts_of(follows, " ");
    return parts.size() == 4 ? parts[0] + " " + parts[2] + " " + parts[3] : follows;
}

void check(std::vector<Row>& rows, const PauseEvent& event, const Situation& situation,
           const NamedPolicy& policy)
{
    PauseRig rig(policy.policy);
    if (!situation.arrange(rig)) {
        return;
    }
    const auto before = rig.state();
    const auto order = event.apply(rig);
    if (!order) {
        return;
    }
    CAPTURE(event.name);
    CAPTURE(situation.name);
    CAPTURE(policy.name);
    const Row& row = row_of(rows, event.name, situation.name, policy.name);
    CAPTURE(row.text);
    const auto ordered = row.order == "paused" ? "-" : row.order.substr(0, row.order.find(' '));
    CHECK(to_string(*order) == ordered);
    CHECK(rig.state() == after(before, row.order));
    if (is_told(row.follows)) {
        (void)rig.look(); // as whoever owns the controller does at once
        CHECK(rig.tells() == without_reason(row.follows));
    }
    CHECK(rig.follows() == row.follows);
}

} // namespace

TEST_CASE("pause: every event in every situation, with every policy")
{
    auto rows = rows_of_table();
    for (const auto& event : pause_events()) {
        for (const auto& situation : situations()) {
            for (const auto& policy : pause_policies()) {
                check(rows, event, situation, policy);
            }
        }
    }
    for (const auto& row : rows) {
        CHECK_MESSAGE(row.used, "nothing is so: " << row.events.front() << ": " << row.text);
    }
}

} // namespace berth::guest::test

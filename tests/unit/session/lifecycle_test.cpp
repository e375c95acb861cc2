#include "sandbox/session/lifecycle.hpp"
#include "sandbox/session/settings.hpp"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <utility>

using namespace berth;
using namespace berth::session;

TEST_SUITE("session/lifecycle")
{
    TEST_CASE("every event in every state")
    {
        constexpr std::array states{State::absent, State::creating, State::running, State::ended,
                                    State::lost};
        constexpr std::array events{Event::create,    Event::created,  Event::gone,
                                    Event::restarted, Event::expired,  Event::left,
                                    Event::retired,   Event::outgrown, Event::end,
                                    Event::purge,     Event::adopt};
        const std::map<std::pair<State, Event>, State> expected{
            {{State::absent, Event::create}, State::creating},
            {{State::creating, Event::created}, State::running},
            {{State::creating, Event::gone}, State::lost},
            {{State::creating, Event::end}, State::ended},
            {{State::creating, Event::purge}, State::absent},
            {{State::running, Event::gone}, State::lost},
            {{State::running, Event::restarted}, State::lost},
            {{State::running, Event::expired}, State::ended},
            {{State::running, Event::left}, State::ended},
            {{State::running, Event::retired}, State::ended},
            {{State::running, Event::outgrown}, State::ended},
            {{State::running, Event::end}, State::ended},
            {{State::running, Event::purge}, State::absent},
            {{State::ended, Event::create}, State::creating},
            {{State::ended, Event::adopt}, State::running},
            {{State::ended, Event::purge}, State::absent},
            {{State::lost, Event::create}, State::creating},
            {{State::lost, Event::end}, State::ended},
            {{State::lost, Event::purge}, State::absent},
        };
        for (const State state : states) {
            for (const Event event : events) {
                CAPTURE(to_string(state));
                CAPTURE(static_cast<int>(event));
                const auto transition = next(state, event);
                const auto wanted = expected.find({state, event});
                REQUIRE(transition.has_value() == (wanted != expected.end()));
                if (transition) {
                    CHECK(transition->to == wanted->second);
                    CHECK_FALSE(transition->why.empty());
                }
            }
        }
    }

    TEST_CASE("states have names that lead back to them")
    {
        for (const State state :
             {State::absent, State::creating, State::running, State::ended, State::lost}) {
            CHECK(state_from(to_string(state)) == state);
        }
        CHECK_FALSE(state_from("paused?").has_value());
    }

    TEST_CASE("only what an agent had can be missed")
    {
        for (const State state : {State::absent, State::creating, State::running}) {
            CHECK(replacement_notice(state, "why") == "");
        }
        CHECK(replacement_notice(State::lost, "why") ==
              "the sandbox was lost; a fresh one is in use; files in the home are kept");
        CHECK(replacement_notice(State::ended, "why") ==
              "the sandbox had ended (why); a fresh one is in use; files in the home are kept");
    }
}

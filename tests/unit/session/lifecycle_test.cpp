#include "sandbox/session/lifecycle.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string_view>

using namespace berth;
using namespace berth::session;

namespace {

constexpr std::array states{State::absent, State::creating, State::running, State::ended,
                            State::lost};
constexpr std::array events{Event::create,  Event::created, Event::gone,    Event::restarted,
                            Event::expired, Event::left,    Event::retired, Event::outgrown,
                            Event::end,     Event::purge,   Event::adopt};

/// No default: the compiler refuses an event that is new here.
std::string_view name_of(Event event)
{
    switch (event) {
    case Event::create:
        return "create";
    case Event::created:
        return "created";
    case Event::gone:
        return "gone";
    case Event::restarted:
        return "restarted";
    case Event::expired:
        return "expired";
    case Event::left:
        return "left";
    case Event::retired:
        return "retired";
    case Event::outgrown:
        return "outgrown";
    case Event::end:
        return "end";
    case Event::purge:
        return "purge";
    case Event::adopt:
        return "adopt";
    }
    return "";
}

struct Expected {
    State from;
    Event event;
    State to;
    std::string_view why;
};

/// All that can happen; nothing else can. The texts stand in the books, and records of other
/// releases are told by some of them.
constexpr std::array expected{
    Expected{State::absent, Event::create, State::creating, "its first call needs a machine"},

    Expected{State::creating, Event::created, State::running, "its guest answered"},
    Expected{State::creating, Event::gone, State::lost, "the server that made it died meanwhile"},
    Expected{State::creating, Event::end, State::ended, "it was ended while it was made"},
    Expected{State::creating, Event::purge, State::absent, "it was deleted with its files"},

    Expected{State::running, Event::gone, State::lost, "its machine is gone and nobody ended it"},
    Expected{State::running, Event::restarted, State::lost, "the host was restarted"},
    Expected{State::running, Event::expired, State::ended, "it was not used for its time to live"},
    Expected{State::running, Event::left, State::ended,
             "its last client left (session.on_disconnect = kill)"},
    Expected{State::running, Event::retired, State::ended,
             "it was made with other settings than are asked for now"},
    Expected{State::running, Event::outgrown, State::ended,
             "it was made by an earlier release of berth, to which this one cannot speak any more"},
    Expected{State::running, Event::end, State::ended, "it was ended on request"},
    Expected{State::running, Event::purge, State::absent, "it was deleted with its files"},

    Expected{State::ended, Event::create, State::creating, "a call needs a machine again"},
    Expected{State::ended, Event::adopt, State::running, "its machine was taken over"},
    Expected{State::ended, Event::purge, State::absent, "it was deleted with its files"},

    Expected{State::lost, Event::create, State::creating, "a fresh machine replaces the lost one"},
    Expected{State::lost, Event::end, State::ended, "it was ended on request"},
    Expected{State::lost, Event::purge, State::absent, "it was deleted with its files"},
};

const Expected* find(State state, Event event)
{
    for (const auto& row : expected) {
        if (row.from == state && row.event == event) {
            return &row;
        }
    }
    return nullptr;
}

} // namespace

TEST_SUITE("session/lifecycle")
{
    TEST_CASE("every event in every state")
    {
        for (const State state : states) {
            for (const Event event : events) {
                CAPTURE(to_string(state));
                CAPTURE(name_of(event));
                const auto transition = next(state, event);
                const Expected* wanted = find(state, event);
                REQUIRE(transition.has_value() == (wanted != nullptr));
                if (transition) {
                    CHECK(transition->to == wanted->to);
                    CHECK(transition->why == wanted->why);
                }
            }
        }
    }

    TEST_CASE("states have names that lead back to them")
    {
        for (const State state : states) {
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
        CHECK(replacement_notice(State::lost, next(State::running, Event::restarted).value().why) ==
              "the sandbox was lost (the host was restarted); a fresh one is in use; files in the "
              "home are kept");
        CHECK(replacement_notice(State::ended, "why") ==
              "the sandbox had ended (why); a fresh one is in use; files in the home are kept");
    }
}

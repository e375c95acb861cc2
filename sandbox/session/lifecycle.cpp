#include "sandbox/session/lifecycle.hpp"

#include <array>

namespace berth::session {
namespace {

struct Rule {
    State from;
    Event event;
    Transition transition;
};

constexpr std::string_view host_restarted = "the host was restarted";
constexpr std::string_view deleted_with_files = "it was deleted with its files";

constexpr std::array rules{
    Rule{State::absent, Event::create, {State::creating, "its first call needs a machine"}},
    Rule{State::creating, Event::created, {State::running, "its guest answered"}},
    Rule{State::creating, Event::gone, {State::lost, "the server that made it died meanwhile"}},
    Rule{State::creating, Event::end, {State::ended, "it was ended while it was made"}},
    Rule{State::creating, Event::purge, {State::absent, deleted_with_files}},
    Rule{State::running, Event::gone, {State::lost, "its machine is gone and nobody ended it"}},
    Rule{State::running, Event::restarted, {State::lost, host_restarted}},
    Rule{State::running, Event::expired, {State::ended, "it was not used for its time to live"}},
    Rule{State::running,
         Event::left,
         {State::ended, "its last client left (session.on_disconnect = kill)"}},
    Rule{State::running,
         Event::retired,
         {State::ended, "it was made with other settings than are asked for now"}},
    Rule{State::running,
         Event::outgrown,
         {State::ended, "it was made by an earlier release of berth, to which this one cannot "
                        "speak any more"}},
    Rule{State::running, Event::end, {State::ended, "it was ended on request"}},
    Rule{State::running, Event::purge, {State::absent, deleted_with_files}},
    Rule{State::ended, Event::adopt, {State::running, "its machine was taken over"}},
    Rule{State::ended, Event::create, {State::creating, "a call needs a machine again"}},
    Rule{State::ended, Event::purge, {State::absent, deleted_with_files}},
    Rule{State::lost, Event::create, {State::creating, "a fresh machine replaces the lost one"}},
    Rule{State::lost, Event::end, {State::ended, "it was ended on request"}},
    Rule{State::lost, Event::purge, {State::absent, deleted_with_files}},
};

constexpr std::array<std::string_view, 5> names{"absent", "creating", "running", "ended", "lost"};

} // namespace

std::optional<Transition> next(State state, Event event) noexcept
{
    for (const auto& rule : rules) {
        if (rule.from == state && rule.event == event) {
            return rule.transition;
        }
    }
    return std::nullopt;
}

bool is_with_home(std::string_view why) noexcept
{
    return why == deleted_with_files || why == deleted_or_given;
}

std::string replacement_notice(State before, std::string_view why)
{
    constexpr const char* fresh = "; a fresh one is in use; files in the home are kept";
    switch (before) {
    case State::ended:
        return "the sandbox had ended (" + std::string(why) + ")" + fresh;
    case State::lost:
        return (why == host_restarted ? "the sandbox was lost (" + std::string(why) + ")"
                                      : std::string("the sandbox was lost")) +
               fresh;
    case State::absent:
    case State::creating:
    case State::running:
        return {};
    }
    return {};
}

std::string_view to_string(State state) noexcept
{
    return names.at(static_cast<std::size_t>(state));
}

std::optional<State> state_from(std::string_view name) noexcept
{
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names.at(i) == name) {
            return static_cast<State>(i);
        }
    }
    return std::nullopt;
}

} // namespace berth::session

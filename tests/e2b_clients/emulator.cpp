#include "tests/e2b_clients/emulator.hpp"

#include <chrono>
#include <stdexcept>

namespace berth::tests {

using nlohmann::json;

E2bEmulator::E2bEmulator() : settings_(e2b::read_settings(&e2b::process_variable)) {}

json E2bEmulator::ask(const std::string& method, const std::string& what, const json& body)
{
    e2b::HttpRequest request{.method = method,
                             .target = "/_emulator/" + what,
                             .body = body.is_null() ? std::string() : body.dump()};
    const auto reply = http_.request(settings_.api, std::move(request), 64U << 20U,
                                     Deadline::after(std::chrono::minutes(2)));
    if (reply.status >= 300) {
        throw std::runtime_error("the emulator refuses " + what + ": " + reply.body);
    }
    return reply.body.empty() ? json() : json::parse(reply.body);
}

void E2bEmulator::fault(const json& rule)
{
    ask("POST", "faults", rule);
}

std::size_t E2bEmulator::faults_left()
{
    return ask("GET", "faults").size();
}

void E2bEmulator::clear_faults()
{
    ask("DELETE", "faults");
}

json E2bEmulator::set(const json& changed)
{
    return ask("POST", "settings", changed);
}

void E2bEmulator::act(const std::string& box, const std::string& what, const json& more)
{
    ask("POST", "boxes/" + box + '/' + what, more);
}

E2bBooks E2bEmulator::books()
{
    const auto books = ask("GET", "books");
    return {.created = books.at("created").get<std::set<std::string>>(),
            .running = books.at("running").get<std::set<std::string>>(),
            .paused = books.at("paused").get<std::set<std::string>>(),
            .ended = books.at("ended").get<std::map<std::string, std::string>>()};
}

std::string E2bEmulator::log(const std::string& box)
{
    std::string text;
    for (const auto& line : ask("GET", "boxes/" + box + "/log")) {
        text +=
            line.at("path").get<std::string>() + ' ' + line.at("text").get<std::string>() + '\n';
    }
    return text;
}

std::map<std::string, int> E2bEmulator::take_counts()
{
    return ask("DELETE", "counts").get<std::map<std::string, int>>();
}

} // namespace berth::tests

// The head of a request to the proxy of a filtered network, and the rules it is judged by.

#include "sandbox/base/error.hpp"
#include "sandbox/filter/body.hpp"
#include "sandbox/filter/request.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace {

using berth::filter::Request;
using berth::fuzz::require;

std::size_t count(const std::string& text, const std::string& word)
{
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        ++found;
    }
    return found;
}

void check(const Request& request)
{
    const auto again = berth::filter::target_of(request.target.name, request.target.port);
    require(again && again->to_text() == request.target.to_text() &&
                again->address == request.target.address,
            "a target is what its text is");
    if (request.form == Request::Form::plain) {
        require(berth::filter::end_of_head(berth::filter::head_of(request)) ==
                    berth::filter::head_of(request).size(),
                "one request goes on");
        require(count(berth::filter::head_of(request), "\r\nHost: ") == 1 &&
                    count(berth::filter::head_of(request), "\r\nConnection: close\r\n") == 1,
                "with one host, and nothing after it");
    }
}

/// Where a body in chunks ends must not depend on the pieces that it comes in.
void check_body(std::string_view bytes)
{
    std::size_t at_once = 0;
    bool is_done = false;
    try {
        berth::filter::Body whole(std::nullopt);
        at_once = whole.take(bytes);
        is_done = whole.is_done();
    } catch (const berth::filter::BadRequest& bad) {
        require(bad.status == 400 && !bad.reason.empty(), "a body is wrong");
        return;
    }
    require(is_done || at_once == bytes.size(), "a body goes on until its end");
    berth::filter::Body slow(std::nullopt);
    std::size_t taken = 0;
    for (const char each : bytes) {
        taken += slow.take(std::string_view(&each, 1));
    }
    require(taken == at_once && slow.is_done() == is_done, "a body ends where it ends");
}

/// What a rule says of names and ports must not depend on how it is written.
void check_rule(std::string_view text)
{
    try {
        const auto rule = berth::filter::parse_rule(text, true);
        require(rule.first_port >= 1 && rule.first_port <= rule.last_port, "its ports are ports");
        if (rule.kind == berth::filter::Rule::Kind::name) {
            require(rule.has_name(rule.name) && !rule.has_name("x." + rule.name),
                    "a name is itself alone");
        }
        if (rule.kind == berth::filter::Rule::Kind::below) {
            require(rule.has_name("x" + rule.name) && !rule.has_name(rule.name.substr(1)),
                    "what is below a name is not the name");
        }
    } catch (const berth::Error& error) {
        require(error.code() == berth::ErrorCode::invalid_argument && !error.hint().empty(),
                "a rule is wrong, and told how to be right");
    }
}

} // namespace

BERTH_FUZZ_TARGET(proxy_request)
{
    const auto [bytes, rule] = berth::fuzz::parts_of<2>(input);
    const auto end = berth::filter::end_of_head(bytes);
    if (end != std::string_view::npos) {
        try {
            check(berth::filter::read_request(bytes.substr(0, end)));
        } catch (const berth::filter::BadRequest& bad) {
            require(bad.status >= 400 && bad.status < 600 && !bad.reason.empty(),
                    "a request is wrong");
        }
        check_body(bytes.substr(end));
    }
    check_rule(rule.substr(0, rule.find('\n')));
}

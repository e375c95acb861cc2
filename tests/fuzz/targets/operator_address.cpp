// What an operator asks for, as the target of his request has it, and a trace that a client is a
// part of.

#include "server/http/operator_request.hpp"
#include "server/mcp/trace_context.hpp"
#include "server/options/session_name.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>

BERTH_FUZZ_TARGET(operator_address)
{
    using berth::fuzz::require;
    using namespace berth::server;
    berth::transport::HttpHead head;
    const auto line = input.substr(0, input.find('\n'));
    const auto space = std::min(line.find(' '), line.size());
    const auto target = line.substr(std::min(space + 1, line.size()));
    const auto question = std::min(target.find('?'), target.size());
    head.method = line.substr(0, space);
    head.path = target.substr(0, question);
    head.query = target.substr(std::min(question + 1, target.size()));
    try {
        const auto request = http::read_operator_request(head);
        require(http::is_operators_path(head.path), "what is answered is the operators'");
        require(http::allowed_methods(head.path).find(head.method) != std::string::npos,
                "and with a method of its path");
        for (const auto& name : {request.key, request.principal, request.backend}) {
            require(is_showable(name), "names move no cursor");
        }
        require(!request.purge || request.what == http::OperatorRequest::What::end,
                "nothing else removes a home");
    } catch (const berth::transport::HttpError& error) {
        require(error.status() == 400 || error.status() == 404 || error.status() == 405,
                "a request is wrong");
    }
    if (berth::mcp::is_traceparent(input)) {
        require(input.find_first_of(" \"\\\n\r\t") == std::string_view::npos,
                "a trace cannot leave its field");
    }
}

#include "server/http/trace_header.hpp"

#include "server/mcp/trace_context.hpp"

namespace berth::server::http {

std::string traceparent_of(const transport::HttpHead& head)
{
    std::string found;
    int count = 0;
    for (const auto& [name, value] : head.fields) {
        if (name == "traceparent") {
            found = value;
            ++count;
        }
    }
    return count == 1 && mcp::is_traceparent(found) ? found : std::string();
}

} // namespace berth::server::http

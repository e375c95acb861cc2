#pragma once

#include "server/transport/exchange.hpp"
#include "server/transport/http_message.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace berth::server::http {

/// What a client takes for an answer (Accept).
struct Accepted {
    bool json = true;
    bool events = false; ///< text/event-stream
};

/// No header: whatever there is, but no stream, which needs a reader that knows it.
[[nodiscard]] Accepted accepted_by(const transport::HttpHead& head);

/// The requests of one POST while they are worked on.
struct Flight {
    std::shared_ptr<transport::Exchange> exchange;
    Accepted accepted;
    /// The client has closed the connection; empty: that means nothing.
    std::function<void()> on_gone;
    /// Headers of the answer.
    std::vector<std::pair<std::string, std::string>> fields{};
    std::shared_ptr<void> kept{}; ///< until it is written
};

/// Waits for the answer: as JSON where it comes soon and nothing is said before it, else as a
/// stream of events, which is kept alive. By the connection's thread.
[[nodiscard]] transport::HttpAnswer answer_of(Flight flight);

} // namespace berth::server::http

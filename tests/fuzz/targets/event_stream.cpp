// What is said to a request as a stream of events (SSE): texts of tools and of clients in messages,
// and a peer that goes away in the middle. A byte says what happens, then the texts.

#include "sandbox/base/utf8.hpp"
#include "server/http/flight.hpp"
#include "server/rpc/json_text.hpp"
#include "server/rpc/message.hpp"
#include "tests/fuzz/connection.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using berth::fuzz::require;
using namespace berth::transport;
using nlohmann::json;

/// The messages of a stream as every reader of the standard takes it (WHATWG HTML 9.2.6): a line
/// ends with a carriage return, too.
std::vector<std::string> plain_events(std::string_view text)
{
    std::vector<std::string> events;
    std::string data;
    while (!text.empty()) {
        const auto end = text.find_first_of("\r\n");
        require(end != std::string_view::npos, "every line ends");
        const auto line = text.substr(0, end);
        text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
        if (line.starts_with("data: ")) {
            require(data.empty(), "a message is one line");
            data = line.substr(6);
        } else if (line.empty() && !data.empty()) {
            events.push_back(std::move(data));
            data.clear();
        } else {
            require(line.empty() || line == "event: message" || line.starts_with(':'),
                    "nothing else is said");
        }
    }
    require(data.empty(), "every message ends");
    return events;
}

/// As a tool's result has it, and as a notification.
std::string message_of(std::string_view text, bool is_answer)
{
    std::string quoted;
    if (berth::utf8::is_valid(text)) {
        berth::rpc::append_quoted(quoted, text);
    } else {
        quoted = berth::rpc::to_text(json(text));
    }
    return is_answer ? berth::rpc::result_message("7", "{\"text\":" + quoted + "}")
                     : berth::rpc::notification_message("notifications/message",
                                                        "{\"data\":" + quoted + "}");
}

struct Said {
    std::vector<std::string> messages; ///< that were taken
    int gone = 0;                      ///< how often it was cancelled
    int read = 0;
    int lost = 0;
};

/// Says the texts, the last of them as the answer if there is one.
void say(berth::rpc::Sink& sink, std::string_view texts, bool answers, Said& said)
{
    std::vector<std::string_view> lines;
    berth::fuzz::each_line(texts, [&](std::string_view line) { lines.push_back(line); });
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool last = answers && i + 1 == lines.size();
        auto message = message_of(lines[i], last);
        require(json::accept(message), "a message is JSON");
        if (last) {
            said.messages.push_back(message);
            sink.when_read([&said] { ++said.read; }, [&said] { ++said.lost; });
            sink.send(std::move(message));
        } else if (sink.offer(message)) {
            said.messages.push_back(std::move(message));
        }
    }
    require(said.messages.size() <= Exchange::most_waiting + 1, "not everything waits");
}

} // namespace

BERTH_FUZZ_TARGET(event_stream)
{
    const auto how = berth::fuzz::byte_at(input, 0);
    const bool answers = (how & 1U) != 0 && input.size() > 1;
    // So many pieces are written before the peer is gone.
    const std::size_t patience = (how & 2U) != 0 ? how >> 2U : input.size() + 1;
    berth::fuzz::Connection connection;
    const auto socket = std::make_shared<HttpSocket>(connection.take_server());
    const auto exchange = std::make_shared<Exchange>(socket);
    Said said;
    say(*exchange->sink(), input.substr(std::min<std::size_t>(1, input.size())), answers, said);
    const auto answer = berth::server::http::answer_of({.exchange = exchange,
                                                        .accepted = {.json = false, .events = true},
                                                        .on_gone = [&said] { ++said.gone; }});
    require(answer.status == 200 && answer.type == "text/event-stream", "it is a stream");
    std::string written;
    std::size_t count = 0;
    const auto write = [&](std::string_view piece) {
        const bool reads = count++ < patience;
        written += reads ? piece : std::string_view();
        return reads;
    };
    if (const auto last = answer.stream(write); !last.empty()) {
        (void)write(last);
    }
    const bool left = count > patience;
    answer.then(!left);
    const auto read = plain_events(written);
    require(read.size() == std::min(patience, said.messages.size()) &&
                std::ranges::equal(read, std::span(said.messages).first(read.size())),
            "what is read is what was said");
    require(said.gone <= 1 && (!left || answers || said.gone == 1), "who goes away cancels, once");
    require(said.lost + said.read == (answers ? 1 : 0), "whoever asks is told how it ended");
    require(said.lost == (answers && left ? 1 : 0), "what was not written was not read");
}

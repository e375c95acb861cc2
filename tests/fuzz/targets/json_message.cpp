// A message of a client: read, taken apart, answered; and what is known of one that is too long.

#include "server/mcp/era.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_reader.hpp"
#include "server/rpc/json_text.hpp"
#include "server/rpc/message.hpp"
#include "server/rpc/outline.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace {

using berth::fuzz::require;
using namespace berth::rpc;
using nlohmann::json;

std::optional<json> read(std::string_view text)
try {
    return read_json(text, ReadLimits{.depth = 16, .values = 5000});
} catch (const ProtocolError& error) {
    require(error.code() != parse_error || !json::accept(text), "JSON can be parsed");
    return std::nullopt;
}

void take(json&& document, const std::string& outline)
{
    const bool notification = is_notification(document);
    require(json::accept(id_for_error(document)), "an id can be sent back");
    std::optional<Message> message;
    try {
        message = take_message(std::move(document));
    } catch (const ProtocolError&) {
        return;
    }
    require(notification == (message->kind == Kind::notification), "kinds agree");
    if (message->kind == Kind::request) {
        require(json::accept(result_message(message->id, "{}")), "an answer is JSON");
    }
    if (!outline.empty() && message->kind != Kind::response) {
        const auto known = recognise(outline);
        require(known.kind == message->kind && known.id == message->id &&
                    known.method == message->method,
                "the outline tells whose a message is");
    }
    if (message->params && berth::mcp::era_of(*message->params) == berth::mcp::Era::modern) {
        try {
            berth::mcp::check_envelope(*message->params);
        } catch (const ProtocolError&) {
        }
    }
}

} // namespace

BERTH_FUZZ_TARGET(json_message)
{
    Outline outline;
    berth::fuzz::each_piece(input, [&](std::string_view piece) { outline.feed(piece); });
    require(outline.text().size() <= Outline::limit, "an outline is short");
    (void)recognise(outline.text());
    (void)recognise(input);
    auto document = read(input);
    if (!document) {
        return;
    }
    require(json::accept(input), "what was read is JSON");
    require(json::parse(to_text(*document)) == *document, "what is written is what was read");
    take(std::move(*document), outline.text());
}

#include "sandbox/session/record_codec.hpp"

#include "sandbox/base/wall_time.hpp"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace berth::session {
namespace {

constexpr int version = 1;

} // namespace

std::string encode(const Record& record)
{
    const nlohmann::json json{
        {"version", version},
        {"principal", record.id.principal},
        {"session", record.id.session},
        {"unnamed", record.unnamed},
        {"state", to_string(record.state)},
        {"why", record.why},
        {"machine",
         {{"backend", record.machine.backend},
          {"id", record.machine.id},
          {"generation", record.machine.generation},
          {"data", record.machine.data}}},
        {"fingerprint", record.fingerprint},
        {"created", rfc3339(record.created)},
        {"epoch", record.epoch},
        {"owner", record.owner},
    };
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Record decode_record(std::string_view text)
{
    // A record is flat; the depth only keeps a damaged file from costing memory.
    const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        return depth <= 8;
    };
    const auto json = nlohmann::json::parse(text, shallow);
    if (json.at("version").get<int>() != version) {
        throw std::runtime_error("it was written by another version of berth");
    }
    Record record;
    json.at("principal").get_to(record.id.principal);
    json.at("session").get_to(record.id.session);
    json.at("unnamed").get_to(record.unnamed);
    json.at("why").get_to(record.why);
    const auto& machine = json.at("machine");
    machine.at("backend").get_to(record.machine.backend);
    machine.at("id").get_to(record.machine.id);
    machine.at("generation").get_to(record.machine.generation);
    machine.at("data").get_to(record.machine.data);
    json.at("fingerprint").get_to(record.fingerprint);
    json.at("epoch").get_to(record.epoch);
    json.at("owner").get_to(record.owner);
    const auto state = state_from(json.at("state").get<std::string>());
    const auto created = parse_rfc3339(json.at("created").get<std::string>());
    if (!state || !created) {
        throw std::runtime_error("its state or its time is not one");
    }
    record.state = *state;
    record.created = *created;
    return record;
}

} // namespace berth::session

#include "sandbox/session/record_codec.hpp"

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/wall_time.hpp"
#include "sandbox/session/key.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace berth::session {
namespace {

using nlohmann::json;

constexpr int version = 1;

json encode_conditions(const Conditions& made)
{
    auto mounts = json::array();
    for (const auto& mount : made.mounts) {
        mounts.push_back(
            {{"source", mount.source}, {"target", mount.target}, {"writable", mount.writable}});
    }
    const auto& limits = made.limits;
    return {{"template", made.template_name},
            {"mounts", std::move(mounts)},
            {"network", sandbox::word_of(made.network)},
            {"allow_out", made.outbound.allow},
            {"deny_out", made.outbound.deny},
            {"filter",
             {{"allow", made.filter.allow},
              {"deny", made.filter.deny},
              {"intercept", made.filter.intercept},
              {"max_sent", made.filter.max_sent},
              {"private", made.filter.inner},
              {"secret", made.filter.secrets}}},
            {"path_policy", made.path_policy},
            {"ttl", made.ttl.count()},
            {"home_retention", made.home_retention.count()},
            {"own_retention", made.own_retention},
            {"idle_pause_ms", made.idle_pause.count()},
            {"on_disconnect", protocol::to_string(made.on_disconnect)},
            {"save_on_end", made.save_on_end.patterns},
            {"workspace", made.save_on_end.workspace},
            {"limits",
             {{"memory", limits.memory},
              {"pids", limits.pids},
              {"cpus", limits.cpus},
              {"nofile", limits.nofile},
              {"calls", limits.calls},
              {"jobs", limits.jobs},
              {"spill_stream", limits.spill_stream},
              {"spill_session", limits.spill_session},
              {"quota", limits.quota}}}};
}

json encode_place(const Place& place)
{
    return {{"host_id", place.host_id},
            {"host", place.host},
            {"state_directory", place.state_directory}};
}

Place decode_place(const json& value)
{
    Place place;
    value.at("host_id").get_to(place.host_id);
    value.at("host").get_to(place.host);
    value.at("state_directory").get_to(place.state_directory);
    return place;
}

Conditions decode_conditions(const json& value)
{
    Conditions made;
    made.template_name = value.value("template", ""); // releases before it knew none
    for (const auto& mount : value.at("mounts")) {
        made.mounts.push_back({.source = mount.at("source").get<std::string>(),
                               .target = mount.at("target").get<std::string>(),
                               .writable = mount.at("writable").get<bool>()});
    }
    made.network = sandbox::network_of(value.at("network").get<std::string>());
    made.outbound.allow = value.value("allow_out", std::vector<std::string>());
    made.outbound.deny = value.value("deny_out", std::vector<std::string>());
    if (const auto filter = value.find("filter"); filter != value.end()) {
        filter->at("allow").get_to(made.filter.allow);
        filter->at("deny").get_to(made.filter.deny);
        filter->at("private").get_to(made.filter.inner);
        made.filter.intercept = filter->value("intercept", false);
        made.filter.max_sent = filter->value("max_sent", made.filter.max_sent);
        made.filter.secrets = filter->value("secret", made.filter.secrets); // earlier: none
    }
    value.at("path_policy").get_to(made.path_policy);
    made.ttl = std::chrono::seconds(value.at("ttl").get<std::int64_t>());
    // What a release promised to keep until somebody removes it, is.
    made.home_retention = std::chrono::seconds(value.value("home_retention", std::int64_t{0}));
    made.own_retention = value.value("own_retention", false); // releases before it knew none
    // A machine of a release that could not pause never does.
    made.idle_pause = std::chrono::milliseconds(value.value("idle_pause_ms", std::int64_t{0}));
    made.on_disconnect = protocol::on_disconnect_from(value.value("on_disconnect", "idle"))
                             .value_or(made.on_disconnect);
    made.save_on_end.patterns = value.value("save_on_end", std::vector<std::string>());
    made.save_on_end.workspace = value.value("workspace", "");
    const auto& limits = value.at("limits");
    limits.at("memory").get_to(made.limits.memory);
    limits.at("pids").get_to(made.limits.pids);
    limits.at("cpus").get_to(made.limits.cpus);
    limits.at("nofile").get_to(made.limits.nofile);
    limits.at("calls").get_to(made.limits.calls);
    limits.at("jobs").get_to(made.limits.jobs);
    limits.at("spill_stream").get_to(made.limits.spill_stream);
    limits.at("spill_session").get_to(made.limits.spill_session);
    made.limits.quota = limits.value("quota", std::uint64_t{0}); // releases before it had none
    return made;
}

json encode_machine(const sandbox::MachineRecord& machine)
{
    json text{{"backend", machine.backend},
              {"id", machine.id},
              {"generation", machine.generation},
              {"data", machine.data}};
    if (!machine.home.empty()) {
        text["home"] = machine.home;
    }
    return text;
}

void decode_machine(const json& value, sandbox::MachineRecord& machine)
{
    value.at("backend").get_to(machine.backend);
    value.at("id").get_to(machine.id);
    value.at("generation").get_to(machine.generation);
    value.at("data").get_to(machine.data);
    machine.home = value.value("home", machine.home);
}

json encode_kept(const KeptTime& kept)
{
    return {{"boot", kept.seen.boot},
            {"up", kept.seen.up.count()},
            {"wall", kept.seen.wall.count()},
            {"counted", kept.counted.count()}};
}

KeptTime decode_kept(const json& value)
{
    const auto seconds = [&](const char* name) {
        return std::chrono::seconds(value.at(name).get<std::int64_t>());
    };
    return {.seen = {.boot = value.at("boot").get<std::string>(),
                     .up = seconds("up"),
                     .wall = seconds("wall")},
            .counted = seconds("counted")};
}

json encode_saving(const Saving& saving)
{
    return {{"due", saving.due},
            {"begun", saving.begun},
            {"folder", saving.folder},
            {"trouble", saving.trouble}};
}

Saving decode_saving(const json& value)
{
    Saving saving;
    value.at("due").get_to(saving.due);
    value.at("begun").get_to(saving.begun);
    value.at("folder").get_to(saving.folder);
    value.at("trouble").get_to(saving.trouble);
    return saving;
}

/// Where that byte is, counted as editors do.
std::string place_of(std::string_view text, std::size_t byte)
{
    const auto before = text.substr(0, byte == 0 ? 0 : byte - 1);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const auto line_start = before.rfind('\n') + 1; // npos + 1 is 0
    return "line " + std::to_string(lines + 1) + ", column " +
           std::to_string(before.size() - line_start + 1);
}

json parse(std::string_view text)
{
    // A record is nearly flat; the depth only keeps a damaged file from costing memory.
    const auto shallow = [](int depth, json::parse_event_t, json&) { return depth <= 8; };
    try {
        return json::parse(text, shallow);
    } catch (const json::parse_error& error) {
        throw std::runtime_error("it is damaged: not JSON at " + place_of(text, error.byte));
    }
}

/// What the session's next machine is to tell.
void add_told(json& text, const Record& record)
{
    if (!record.news.empty()) {
        text["news"] = record.news;
    }
    if (!record.untold.empty()) {
        auto& untold = text["untold"] = json::array();
        for (const auto& notice : record.untold) { // which quotes what commands have printed
            untold.push_back(utf8::sanitize(notice));
        }
    }
    for (const auto& [generation, why] : record.past) {
        text["past"].push_back({{"generation", generation}, {"why", why}});
    }
}

/// The same of what is in the books.
void take_told(const json& value, Record& record)
{
    record.news = value.value("news", "");
    record.untold = value.value("untold", std::vector<std::string>());
    for (const auto& earlier : value.value("past", json::array())) {
        record.past.emplace_back(earlier.at("generation").get<std::string>(),
                                 earlier.at("why").get<std::string>());
    }
}

/// Throws std::runtime_error for one that is none.
std::string decode_adopting(const json& value)
{
    std::string adopting = value.value("adopting", "");
    if (!adopting.empty() && !is_key(adopting)) {
        // What another session had is removed with it: from shared books "../.." would lead out.
        throw std::runtime_error("it is damaged: what it adopts is no session");
    }
    return adopting;
}

} // namespace

std::string encode(const Record& record)
{
    json text{
        {"version", version},
        {"principal", record.id.principal},
        {"session", record.id.session},
        {"unnamed", record.unnamed},
        {"state", to_string(record.state)},
        {"why", record.why},
        {"machine", encode_machine(record.machine)},
        {"created", rfc3339(record.created)},
        {"epoch", record.epoch},
        {"owner", record.owner},
    };
    if (record.made_with) {
        text["made_with"] = encode_conditions(*record.made_with);
    }
    if (record.kept) {
        text["kept"] = encode_kept(*record.kept);
    }
    if (record.found_home) {
        text["found_home"] = true;
    }
    add_told(text, record);
    for (const auto& [generation, since] : record.late) {
        text["late"].push_back({{"generation", generation}, {"since", rfc3339(since)}});
    }
    if (record.ending) {
        text["ending"] = true;
    }
    if (record.purging) {
        text["purging"] = true;
    }
    if (record.network_unsure) {
        text["network_unsure"] = true;
    }
    if (!record.adopting.empty()) {
        text["adopting"] = record.adopting;
    }
    if (record.saving.due || record.saving.begun || !record.saving.folder.empty()) {
        text["saving"] = encode_saving(record.saving);
    }
    if (record.place) {
        text["place"] = encode_place(*record.place);
    }
    if (!record.mark.empty()) {
        text["mark"] = record.mark;
    }
    return text.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Record decode_record(std::string_view text)
try {
    const auto value = parse(text);
    if (value.at("version").get<int>() != version) {
        throw std::runtime_error("it was written by another version of berth");
    }
    Record record;
    value.at("principal").get_to(record.id.principal);
    value.at("session").get_to(record.id.session);
    value.at("unnamed").get_to(record.unnamed);
    value.at("why").get_to(record.why);
    decode_machine(value.at("machine"), record.machine);
    if (const auto made = value.find("made_with"); made != value.end()) {
        record.made_with = decode_conditions(*made);
    }
    if (const auto kept = value.find("kept"); kept != value.end()) {
        record.kept = decode_kept(*kept);
    }
    if (const auto place = value.find("place"); place != value.end()) {
        record.place = decode_place(*place);
    }
    record.found_home = value.value("found_home", false);
    record.ending = value.value("ending", false);
    record.purging = value.value("purging", false);
    record.network_unsure = value.value("network_unsure", false);
    take_told(value, record);
    for (const auto& late : value.value("late", json::array())) {
        // A time that is none is over.
        record.late.emplace_back(
            late.at("generation").get<std::string>(),
            parse_rfc3339(late.at("since").get<std::string>()).value_or(Record().created));
    }
    record.adopting = decode_adopting(value);
    if (const auto saving = value.find("saving"); saving != value.end()) {
        record.saving = decode_saving(*saving);
    }
    record.mark = value.value("mark", "");
    value.at("epoch").get_to(record.epoch);
    value.at("owner").get_to(record.owner);
    const auto state = state_from(value.at("state").get<std::string>());
    const auto created = parse_rfc3339(value.at("created").get<std::string>());
    if (!state || !created) {
        throw std::runtime_error("its state or its time is not one");
    }
    record.state = *state;
    record.created = *created;
    return record;
} catch (const json::exception&) {
    // The library's words are for who writes the program.
    throw std::runtime_error("it is damaged: a field is missing or is not of its kind");
}

} // namespace berth::session

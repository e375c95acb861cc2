#include "server/instructions.hpp"

#include "sandbox/base/joined.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "server/options/values.hpp"

#include <algorithm>
#include <array>

namespace berth::server {
namespace {

/// Mounts are named one by one as long as they leave room for the rest.
constexpr std::size_t most_mounts = 12;
/// Bytes of the reason in each tool's description.
constexpr std::size_t most_reason = 400;

/// Which shares no memory, no processor and no network with the server's host.
bool is_machine_of_its_own(const std::vector<sandbox::Layer>& layers)
{
    return std::ranges::any_of(layers, [](const sandbox::Layer& layer) {
        return layer.name == "microvm" && layer.in_force;
    });
}

/// Of one of its own that is filtered: nobody tells what was denied.
std::string network_sentence(sandbox::Network network, bool is_its_own)
{
    if (network == sandbox::Network::none) {
        return "It has no network: downloads, package indexes and web requests fail.";
    }
    if (is_its_own) {
        return network == sandbox::Network::filtered
                   ? "It reaches only what its operator allows: other connections end without an "
                     "answer, which is a rule and not a broken network."
                   : "It reaches the internet, as far as its operator allows.";
    }
    return network == sandbox::Network::filtered
               ? "It reaches only what its operator allows, and only through the proxy that "
                 "HTTP_PROXY and HTTPS_PROXY name; what is denied is listed in the result of the "
                 "command."
               : "It shares the network of its host, 127.0.0.1 included.";
}

/// Else a model would take a placeholder for a key that is wrong.
std::string secrets_sentence(const sandbox::Filter& filter)
{
    return filter.secrets.empty()
               ? ""
               : "Some variables have placeholders of secrets: send one in a header or in Basic "
                 "credentials (in the address too where ? is behind its place) as if it were the "
                 "value, which the proxy puts in on its way to its own place and nowhere else (" +
                     visible_beginning(joined(filter.secrets), 600, " …") + "). ";
}

std::string template_sentence(const std::string& name)
{
    return name.empty() ? ""
                        : "Its programs are those of the template " +
                              visible_beginning(name, 128, " …") + ", not the host's. ";
}

std::string mounts_sentence(const std::vector<sandbox::Mount>& mounts)
{
    const auto text = joined_first(mounts, most_mounts, [](const sandbox::Mount& mount) {
        return visible_beginning(mount.target, 128) +
               (mount.writable ? " (read and write)" : " (read only)");
    });
    return text.empty() ? text : "Directories of the host are mounted at " + text + ". ";
}

std::string duration_text(std::chrono::seconds time)
{
    return format_duration(static_cast<double>(std::chrono::milliseconds(time).count()));
}

std::string retention(std::chrono::seconds time)
{
    return time == std::chrono::seconds(0) ? "" : " for " + duration_text(time) + " more";
}

/// A server that was told nothing takes the machine as it is.
protocol::OnDisconnect at_leaving(const session::Settings& settings,
                                  const session::SessionFacts& facts)
{
    return settings.asked.contains("session.on_disconnect")
               ? settings.on_disconnect
               : facts.on_disconnect.value_or(settings.on_disconnect);
}

/// Where nothing that leaves ends the machine.
std::string end_of_unused(const session::Settings& settings, const sandbox::Backend& backend)
{
    if (backend.ends_machines()) {
        return " and ends when no server has been connected to it for " +
               duration_text(settings.ttl) + ", but its home is kept" +
               retention(settings.home_retention);
    }
    const bool for_ever = settings.home_retention == std::chrono::seconds(0);
    return ", asleep while nobody uses it" +
           (for_ever ? ""
                     : ", and ends with its files after " +
                           duration_text(settings.ttl + settings.home_retention) + " without use");
}

std::string named_lifetime(const session::Settings& settings, protocol::OnDisconnect on_disconnect,
                           const sandbox::Backend& backend)
{
    using protocol::OnDisconnect;
    if (on_disconnect == OnDisconnect::kill) {
        return std::string("The machine ends, with all that runs in it, when the last server of "
                           "this session leaves: with this conversation if no other goes on; its "
                           "home is kept") +
               retention(settings.home_retention);
    }
    return std::string("The machine stays between conversations of this session") +
           (on_disconnect == OnDisconnect::now
                ? " (paused with its jobs while no server is connected)"
                : "") +
           end_of_unused(settings, backend);
}

std::string lifetime_sentence(const Options& options, const session::SessionFacts& facts,
                              const sandbox::Backend& backend, const mcp::Catalog& catalog)
{
    const bool saves = catalog.serves("save_to_workspace");
    if (options.session.session.empty()) {
        return std::string("The machine and its files end with this conversation") +
               (saves ? "; save_to_workspace keeps what should stay." : ".");
    }
    return named_lifetime(options.sessions, at_leaving(options.sessions, facts), backend) +
           (saves ? "; save_to_workspace shares files with other sessions." : ".");
}

std::string advice(const mcp::Catalog& catalog)
{
    return std::string("Compute with it rather than guess: ") +
           (catalog.serves("bash_exec")
                ? "run the code, read the file, count with a command. What a command leaves "
                  "running in the background goes on after its call."
                : "read the file, search it.") +
           " Lines at the top of a result that begin with [berth] are notices of the machine, up "
           "to one that says they end; any other such line is output.";
}

/// Names only what holds: a model that is told of a limit plans with it.
std::string limits_sentence(const sandbox::Limits& limits,
                            const std::vector<sandbox::Layer>& layers)
{
    const bool memory = !sandbox::is_missing(layers, "cgroup-memory");
    const bool cpus = !sandbox::is_missing(layers, "cgroup-cpu");
    const std::string number_of_cpus = format_number(limits.cpus);
    std::string text = "Its commands have ";
    text += memory ? format_bytes(static_cast<double>(limits.memory)) + " of memory" : "";
    text += cpus
                ? (memory ? ", " : "") + number_of_cpus + (number_of_cpus == "1" ? " CPU" : " CPUs")
                : "";
    text += (memory || cpus ? " and " : "") + std::to_string(limits.pids) +
            (limits.pids == 1 ? " process." : " processes.");
    if (!memory || !cpus) {
        text += std::string(" Nothing limits their ") +
                (memory ? "CPU time"
                 : cpus ? "memory"
                        : "memory and CPU time") +
                (is_machine_of_its_own(layers) ? " but what the machine has."
                                               : " here: they share the host's with others.");
    }
    return text;
}

/// These work on the books and the workspace alone.
bool needs_sandbox(const tools::Entry& tool)
{
    constexpr std::array<std::string_view, 3> without = {"delete_workspace_file",
                                                         "list_workspace_files", "session_info"};
    return std::find(without.begin(), without.end(), tools::own_name(tool)) == without.end();
}

} // namespace

std::string disabled_reason(const sandbox::Availability& availability)
{
    if (availability.available) {
        return {};
    }
    std::string text =
        availability.reason.empty() ? "no sandbox can be made here" : availability.reason;
    if (!availability.remedy.empty()) {
        text += ". Remedy: " + availability.remedy;
    }
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string make_instructions(const Options& options, const session::SessionFacts& facts,
                              sandbox::Backend& backend, const sandbox::Availability& availability,
                              const mcp::Catalog& catalog)
{
    std::string text = "These tools work on one machine of your own: " + backend.description();
    text += text.ends_with('.') ? " " : ". ";
    text += "All of them see the same files; your built-in file and shell tools do not see this "
            "machine, so use only these for its files. Its home is /home/user; relative paths "
            "start at the session's working directory, which a command's cd changes. ";
    text += template_sentence(facts.template_name);
    text += network_sentence(facts.network, is_machine_of_its_own(backend.limit_layers())) + ' ';
    text += secrets_sentence(facts.filter);
    text += mounts_sentence(facts.mounts);
    text += limits_sentence(facts.limits, backend.limit_layers()) + ' ';
    text += lifetime_sentence(options, facts, backend, catalog) + '\n';
    text += advice(catalog);
    if (options.read_only) {
        text += "\nThe operator allows reading only: tools that change anything are not served.";
    } else if (!catalog.left_out.empty()) {
        text += "\nNot served here: " +
                joined(catalog.left_out, ", ", [](const auto& each) { return each.first; }) + '.';
    }
    if (const auto reason = disabled_reason(availability); !reason.empty()) {
        text = "DISABLED: the sandbox cannot be made on this host, so the tools that need it fail "
               "until the operator mends it: " +
               reason + "\n\n" + text;
    }
    return text;
}

std::string make_description(const tools::Entry& tool, const tools::Settings& settings,
                             sandbox::Backend& backend, const sandbox::Availability& availability)
{
    auto text = tools::in_words_of(tool.dialect, tool.describe(settings, backend));
    if (const auto reason = needs_sandbox(tool) ? disabled_reason(availability) : "";
        !reason.empty()) {
        // Why and what it does, and no more: the reason stands with each tool, and the list must
        // stay small. The instructions and a call's error have the whole of a long one.
        const auto shown = utf8::prefix_bytes(reason, most_reason);
        text = "DISABLED: " + std::string(shown) + (shown.size() < reason.size() ? " …" : "") +
               "\n" + text.substr(0, text.find("\n\n"));
    }
    return text;
}

} // namespace berth::server

#include "server/options/live_settings.hpp"

#include "sandbox/base/error.hpp"
#include "server/options/definitions.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace berth::server {
namespace {

constexpr std::chrono::seconds look_interval{1};

/// What an operator insists on may take a while to look at.
constexpr std::chrono::seconds first_retry{5};
constexpr std::chrono::seconds longest_retry{60};

/// What a call takes from tools::Settings.
constexpr std::array<std::string_view, 19> of_tools{
    "edit.max_file",
    "env",
    "exec.max_timeout",
    "exec.timeout",
    "glob.limit",
    "grep.limit",
    "grep.line",
    "job.max_timeout",
    "job.timeout",
    "output.budget",
    "output.control_characters",
    "protected.action",
    "protected.paths",
    "read.budget",
    "read.image",
    "read.limit",
    "search.time",
    "secret",
    "sticky_cwd",
};

/// What session::with_later() takes.
constexpr std::array<std::string_view, 33> of_machines{
    "allowed_mount_roots",
    "default_workspace",
    "e2b.allow_out",
    "e2b.deny_out",
    "filter.allow",
    "filter.deny",
    "filter.intercept",
    "filter.max_sent",
    "filter.private",
    "filter.secret",
    "local.cpus",
    "local.memory",
    "local.nofile",
    "local.pids",
    "mount",
    "mount_mode",
    "network",
    "output.spill_session",
    "output.spill_stream",
    "path_policy",
    "session.calls",
    "session.home_retention",
    "session.idle_pause",
    "session.jobs",
    "session.max",
    "session.max_per_principal",
    "session.on_disconnect",
    "session.quota",
    "session.save_on_end",
    "session.setup",
    "session.setup_timeout",
    "session.ttl",
    "template",
};

/// Of the tools', what is looked at together with what sandboxes may write.
constexpr std::array<std::string_view, 2> judged_by_mounts{"env", "secret"};

template <class Keys>
bool is_of(const Keys& keys, std::string_view key)
{
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::map<std::string, std::string> values_of(const Options& options)
{
    std::map<std::string, std::string> values;
    for (const auto& setting : options.settings) {
        values.emplace(setting.key, setting.value);
    }
    return values;
}

/// Whether a setting says another thing, or somebody says by now what was the default: that is
/// asked for then, which it was not before.
bool is_changed(const RawValue& before, const RawValue& now, bool is_list)
{
    constexpr const char* unsaid = "default";
    return (is_list && before.items != now.items) ||
           (before.origin == unsaid && now.origin != unsaid);
}

/// The keys of the table in which `now` is other than `before`.
std::set<std::string> changed_keys(const Options& before, const Options& now)
{
    const auto old_values = values_of(before);
    std::set<std::string> keys;
    for (const auto& [key, value] : values_of(now)) {
        const auto* const definition = find_definition(key);
        const bool is_list = definition != nullptr &&
                             (definition->kind == Kind::list || definition->kind == Kind::commands);
        if (old_values.at(key) != value ||
            (definition != nullptr &&
             is_changed(before.written.at(key), now.written.at(key), is_list))) {
            keys.insert(key);
        }
    }
    return keys;
}

void append(std::string& list, const std::string& key)
{
    list += (list.empty() ? "" : ", ") + key;
}

} // namespace

bool is_live(std::string_view key)
{
    return is_of(of_tools, key) || is_of(of_machines, key);
}

LiveSettings::LiveSettings(Given given, Environment environment, const Options& options,
                           Told changed, Check check)
    : given_(std::move(given)), environment_(std::move(environment)), changed_(std::move(changed)),
      check_(std::move(check)), options_(std::make_shared<const Options>(options)),
      said_(values_of(options)), looked_(std::chrono::steady_clock::now())
{
    given_.secret_memory = options.secret_memory;
    given_.file = nullptr; // it is read from now on
    for (const auto& [key, value] : options.written) {
        if (!is_live(key)) {
            given_.kept.emplace(key, value);
        }
    }
}

std::shared_ptr<const Options> LiveSettings::options()
{
    const std::lock_guard lock(mutex_);
    if (std::chrono::steady_clock::now() - looked_ >= look_interval) {
        look();
        looked_ = std::chrono::steady_clock::now();
    }
    return options_;
}

void LiveSettings::look()
{
    const auto path = settings_file(given_.config_file, environment_);
    switch (watch_.look(path)) {
    case FileWatch::State::same:
        if (is_due_again()) {
            read_again(path);
        }
        return;
    case FileWatch::State::gone:
        refused_.clear(); // nothing is left to be tried
        changed_({.file = path,
                  .in_force = {},
                  .later = {},
                  .error = "it is gone; what it said holds until the next start",
                  .hint = {}});
        return;
    case FileWatch::State::changed:
        refused_.clear(); // of another state
        read_again(path);
    }
}

bool LiveSettings::is_due_again() const
{
    // Else a file that is being written would be taken, empty as it is for a moment.
    return !refused_.empty() && watch_.is_as_taken() &&
           std::chrono::steady_clock::now() - tried_ >= retry_;
}

/// What the file says of a server that is started now, also of what this one keeps.
std::map<std::string, std::string>
LiveSettings::tell_later(Change& change, const std::shared_ptr<const RawValues>& file) const
{
    auto given = given_;
    given.kept.clear();
    given.file = file;
    given.only_looks = true;
    auto said = values_of(make_options(given, environment_));
    for (const auto& [key, value] : said) {
        if (!is_live(key) && said_.at(key) != value) {
            append(change.later, key);
        }
    }
    return said;
}

/// Throws Error: nothing of the file holds.
Options LiveSettings::changed_options(Change& change, bool& of_machine) const
{
    auto given = given_;
    given.only_looks = true; // a folder that has gone since is no matter of the tools
    auto options = make_options(given, environment_);
    for (const auto& key : changed_keys(*options_, options)) {
        append(change.in_force, key);
        of_machine = of_machine || is_of(of_machines, key) || is_of(judged_by_mounts, key);
    }
    if (of_machine) {
        given.only_looks = false;
        given.file = options.file; // not what it has become meanwhile
        return make_options(given, environment_);
    }
    options.keys = options_->keys;
    options.session = options_->session;
    options.sessions = options_->sessions;
    options.tools.command_variables = options_->tools.command_variables;
    options.tools.gives_secrets = options_->tools.gives_secrets;
    options.tools.withheld_secrets = options_->tools.withheld_secrets;
    options.tools.secrets = options_->tools.secrets;
    options.tools.known_secrets = options_->tools.known_secrets;
    return options;
}

void LiveSettings::read_again(const std::string& path)
{
    Change change{.file = path, .in_force = {}, .later = {}, .error = {}, .hint = {}};
    try {
        bool of_machine = false;
        auto options = std::make_shared<const Options>(changed_options(change, of_machine));
        auto said = tell_later(change, options->file);
        if (of_machine) {
            check_(*options); // last: what it tells of holds
        }
        options_ = std::move(options);
        said_ = std::move(said); // what was refused is told with what holds in the end
    } catch (const Error& error) {
        change.error = error.what();
        change.hint = error.hint();
    } catch (const std::exception& error) { // whatever it was, the call that noticed goes on
        change.error = error.what();
    }
    tried_ = std::chrono::steady_clock::now();
    const bool is_told = !change.error.empty() && change.error == refused_;
    retry_ = is_told ? std::min(2 * retry_, longest_retry) : first_retry;
    refused_ = change.error;
    if ((!std::exchange(is_first_, false) || !change.is_empty()) && !is_told) {
        changed_(change);
    }
}

} // namespace berth::server

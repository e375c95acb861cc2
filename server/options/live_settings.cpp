#include "server/options/live_settings.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <sys/stat.h>

namespace berth::server {
namespace {

constexpr std::chrono::seconds look_interval{1};

/// Who writes a file anew empties it first: in that moment it would be one without settings.
constexpr std::chrono::milliseconds settles{500};

/// What a call takes from tools::Settings.
constexpr std::array<std::string_view, 17> live{
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
    "read.budget",
    "read.image",
    "read.limit",
    "search.time",
    "secret",
    "sticky_cwd",
};

bool is_live(std::string_view key)
{
    return std::find(live.begin(), live.end(), key) != live.end();
}

std::map<std::string, std::string> values_of(const Options& options)
{
    std::map<std::string, std::string> values;
    for (const auto& setting : options.settings) {
        values.emplace(setting.key, setting.value);
    }
    return values;
}

void append(std::string& list, const std::string& key)
{
    list += (list.empty() ? "" : ", ") + key;
}

} // namespace

LiveSettings::LiveSettings(Given given, Environment environment, const Options& options,
                           std::function<void(const Change&)> changed)
    : given_(std::move(given)), environment_(std::move(environment)), changed_(std::move(changed)),
      tools_(std::make_shared<const tools::Settings>(options.tools)), values_(values_of(options)),
      looked_(std::chrono::steady_clock::now()), taken_(stamp()), seen_(taken_)
{
    given_.only_looks = true; // a folder that has gone since is no matter of the tools
}

std::shared_ptr<const tools::Settings> LiveSettings::tools()
{
    const std::lock_guard lock(mutex_);
    if (std::chrono::steady_clock::now() - looked_ >= look_interval) {
        look();
        looked_ = std::chrono::steady_clock::now();
    }
    return tools_;
}

LiveSettings::Stamp LiveSettings::stamp() const
{
    Stamp found{.path = settings_file(given_.config_file, environment_)};
    struct stat status = {};
    if (!found.path.empty() && ::stat(found.path.c_str(), &status) == 0) {
        constexpr std::int64_t nanoseconds = 1'000'000'000;
        found.device = status.st_dev;
        found.inode = status.st_ino;
        found.size = status.st_size;
        // Of the content or of the name: mv puts an older file in the place of a newer one.
        found.changed = std::max(status.st_mtim.tv_sec * nanoseconds + status.st_mtim.tv_nsec,
                                 status.st_ctim.tv_sec * nanoseconds + status.st_ctim.tv_nsec);
    }
    return found;
}

void LiveSettings::look()
{
    const Stamp now = stamp();
    const bool same = std::exchange(seen_, now) == now;
    if (now == taken_) {
        return;
    }
    const auto age =
        std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(now.changed);
    // Of a file from the future, or none, that two looks saw the same tells as well.
    if (!same && (now.size < 0 || age < settles)) {
        return;
    }
    taken_ = now;
    if (now.size < 0) {
        changed_({.file = now.path,
                  .in_force = {},
                  .later = {},
                  .error = "it is gone; what it said holds until the next start"});
        return;
    }
    read_again(now.path);
}

void LiveSettings::read_again(const std::string& path)
{
    Change change{.file = path, .in_force = {}, .later = {}, .error = {}};
    try {
        Options options = make_options(given_, environment_);
        if (const auto named = values_of(options).at("profile"); named != values_.at("profile")) {
            // A session keeps the profile that it was started with, its locks and secrets.
            append(change.later, "profile");
            auto pinned = given_;
            pinned.values["profile"] = {.items = {values_.at("profile")}, .origin = "its start"};
            options = make_options(pinned, environment_);
        }
        auto values = values_of(options);
        for (const auto& [key, value] : values) {
            if (values_.at(key) != value) {
                append(is_live(key) ? change.in_force : change.later, key);
            }
        }
        auto tools = options.tools;
        tools.structured_content = tools_->structured_content; // clients were told already
        tools_ = std::make_shared<const tools::Settings>(std::move(tools));
        values_ = std::move(values);
    } catch (const std::exception& error) { // whatever it was, the call that noticed goes on
        change.error = error.what();
    }
    changed_(change);
}

} // namespace berth::server

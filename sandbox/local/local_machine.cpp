#include "sandbox/local/local_machine.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/host_time.hpp"
#include "sandbox/base/split.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/local/process_identity.hpp"
#include "sandbox/local/proxy_secrets.hpp"
#include "sandbox/unix_channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace berth::local {
namespace {

// Neither occurs in what is stored: paths of cgroups are ours, and layers are cut at it.
constexpr char line_end = '\n';
constexpr char field_end = '\t';

template <class Number>
Number number_from(const std::string& text, Number otherwise)
{
    Number value{};
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc{} ? value : otherwise;
}

std::string find(const sandbox::MachineRecord& record, const std::string& name)
{
    const auto entry = record.data.find(name);
    return entry == record.data.end() ? std::string() : entry->second;
}

/// The path comes last; one that has a line end in it is not remembered.
std::string encode_mounts(const std::vector<std::pair<std::string, std::string>>& mounts)
{
    std::string text;
    for (const auto& [source, file] : mounts) {
        if (source.find(line_end) == std::string::npos) {
            text.append(file).append(1, field_end).append(source).append(1, line_end);
        }
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> decode_mounts(const std::string& text)
{
    std::vector<std::pair<std::string, std::string>> mounts;
    for (const auto line : split(text, line_end)) {
        if (const auto end = line.find(field_end); end != std::string_view::npos) {
            mounts.emplace_back(line.substr(end + 1), line.substr(0, end));
        }
    }
    return mounts;
}

std::string encode_layers(const std::vector<sandbox::Layer>& layers)
{
    std::string text;
    for (const auto& layer : layers) {
        text += layer.name + field_end + (layer.in_force ? "1" : "0") + field_end + layer.detail +
                line_end;
    }
    return text;
}

std::vector<sandbox::Layer> decode_layers(const std::string& text)
{
    std::vector<sandbox::Layer> layers;
    for (const auto line : split(text, line_end)) {
        const auto fields = split(line, field_end);
        if (fields.size() >= 2) {
            layers.push_back({std::string(fields[0]), fields[1] == "1",
                              std::string(fields.size() > 2 ? fields[2] : "")});
        }
    }
    return layers;
}

/// One that answers by itself, with numbers of files that stay. Of what is not known here (NFS, and
/// FUSE behind which there may be a network) a look may take for ever.
bool is_local_disk(std::int64_t magic)
{
    constexpr std::int64_t zfs = 0x2fc12fc1; // of no header; OpenZFS, zfs_super.c
    constexpr std::int64_t bcachefs = 0xca451a4e;
    constexpr std::array<std::int64_t, 9> known{
        EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,     F2FS_SUPER_MAGIC,
        TMPFS_MAGIC,      RAMFS_MAGIC,     OVERLAYFS_SUPER_MAGIC, zfs,
        bcachefs};
    return std::find(known.begin(), known.end(), magic) != known.end();
}

std::string id_of(const struct stat& status)
{
    return std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
}

/// False where that cannot be told. The machine's own mount keeps the number from being used again.
bool is_another(const std::string& path, const std::string& id)
{
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? id_of(status) != id
                                               : errno == ENOENT || errno == ENOTDIR;
}

/// Of its facts it keeps no copy besides the record: of a thousand machines that is memory.
class LocalMachine final : public sandbox::Machine {
  public:
    explicit LocalMachine(sandbox::MachineRecord record) : record_(std::move(record)) {}

    [[nodiscard]] const sandbox::MachineRecord& record() const noexcept override { return record_; }

    [[nodiscard]] const std::vector<sandbox::Layer>& layers() const noexcept override
    {
        try {
            std::call_once(asked_, [this] { layers_ = decode_layers(find(record_, "layers")); });
        } catch (const std::exception&) {
            return layers_; // of memory there is none: the next who asks may hear of them
        }
        return layers_;
    }

    [[nodiscard]] std::vector<std::string> replaced_mounts() const override
    {
        std::vector<std::string> replaced;
        for (const auto& [source, mounted] : decode_mounts(find(record_, "mounts"))) {
            const bool told = std::find(replaced.begin(), replaced.end(), source) != replaced.end();
            if (!told && !mounted.empty() && is_another(source, mounted)) {
                replaced.push_back(source); // once, to however many places it is mounted
            }
        }
        return replaced;
    }

    void bring_secrets(const std::map<std::string, std::string>& values) override
    {
        local::bring_secrets(find(record_, "socket"), values);
    }

    [[nodiscard]] std::unique_ptr<sandbox::Channel> connect(const Deadline& deadline) override
    {
        return std::make_unique<sandbox::UnixChannel>(
            connect_unix(find(record_, "socket"), deadline));
    }

  private:
    sandbox::MachineRecord record_;
    mutable std::once_flag asked_;
    mutable std::vector<sandbox::Layer> layers_; ///< once asked for
};

} // namespace

sandbox::MachineRecord to_record(const std::string& id, const std::string& generation,
                                 const MachineFacts& facts)
{
    std::string cgroups;
    for (const auto& path : facts.cgroups) {
        cgroups += path + line_end;
    }
    return {.backend = "local",
            .id = id,
            .generation = generation,
            .data = {{"pid", std::to_string(facts.pid)},
                     {"start_time", std::to_string(facts.start_time)},
                     {"boot", facts.boot},
                     {"socket", facts.socket_path},
                     {"state", facts.state},
                     {"folder", facts.folder},
                     {"note", facts.note},
                     {"home", facts.state + "/sessions/" + facts.folder + "/home"},
                     {"cgroups", cgroups},
                     {"layers", encode_layers(facts.layers)},
                     {"mounts", encode_mounts(facts.mounts)}},
            .made_home = facts.made_home};
}

MachineFacts facts_from(const sandbox::MachineRecord& record)
{
    MachineFacts facts;
    facts.pid = number_from<pid_t>(find(record, "pid"), -1);
    facts.start_time = number_from<std::uint64_t>(find(record, "start_time"), 0);
    facts.boot = find(record, "boot");
    facts.socket_path = find(record, "socket");
    facts.state = find(record, "state");
    facts.folder = find(record, "folder");
    facts.note = find(record, "note");
    const std::string cgroups = find(record, "cgroups");
    for (const auto path : split(cgroups, line_end)) {
        facts.cgroups.emplace_back(path);
    }
    facts.layers = decode_layers(find(record, "layers"));
    facts.mounts = decode_mounts(find(record, "mounts"));
    return facts;
}

MachineFacts facts_before(const sandbox::MachineSpec& spec, const std::string& state)
{
    MachineFacts facts;
    facts.state = state;
    facts.folder = spec.key_hash;
    facts.boot = boot_id();
    for (const auto& mount : spec.mounts) {
        facts.mounts.emplace_back(mount.source, file_id(mount.source));
    }
    if (const auto& folder = spec.template_name; !folder.empty()) {
        facts.mounts.emplace_back(folder, file_id(folder));
    }
    return facts;
}

std::unique_ptr<sandbox::Machine> make_machine(sandbox::MachineRecord record)
{
    return std::make_unique<LocalMachine>(std::move(record));
}

std::string file_id(const std::string& path)
{
    struct statfs system{};
    struct stat status{};
    if (::statfs(path.c_str(), &system) != 0 || !is_local_disk(system.f_type) ||
        ::lstat(path.c_str(), &status) != 0) {
        return {};
    }
    return id_of(status);
}

std::string file_id(int file)
{
    struct stat status{};
    return ::fstat(file, &status) == 0 ? id_of(status) : std::string();
}

UniqueFd open_guest(const MachineFacts& facts)
{
    return open_process(facts.pid, facts.start_time, facts.boot);
}

} // namespace berth::local

#include "sandbox/direct/direct_backend.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/direct/guest_process.hpp"
#include "sandbox/unix_channel.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

namespace berth::direct {
namespace {

using sandbox::MachineRecord;
using sandbox::MachineSpec;

constexpr std::chrono::seconds connect_time{10};

ProcessIdentity identity_of(const MachineRecord& record)
{
    return {.pid = static_cast<pid_t>(std::stol(record.data.at("pid"))),
            .started = record.data.at("started")};
}

const std::vector<sandbox::Layer> no_limits{
    {"cgroup-memory", false, "nothing confines a machine of this backend"},
    {"cgroup-cpu", false, "nothing confines a machine of this backend"},
};

class DirectMachine : public sandbox::Machine {
  public:
    explicit DirectMachine(MachineRecord record) : record_(std::move(record)) {}

    [[nodiscard]] const MachineRecord& record() const noexcept override { return record_; }

    [[nodiscard]] const std::vector<sandbox::Layer>& layers() const noexcept override
    {
        return no_limits;
    }

    [[nodiscard]] std::unique_ptr<sandbox::Channel> connect(const Deadline& deadline) override
    {
        return std::make_unique<sandbox::UnixChannel>(
            connect_unix(record_.data.at("socket"), deadline));
    }

  private:
    MachineRecord record_;
};

class DirectBackend : public sandbox::Backend {
  public:
    DirectBackend(std::string guest_program, std::string state_directory)
        : guest_program_(std::move(guest_program)), state_directory_(std::move(state_directory))
    {
    }

    [[nodiscard]] std::string_view name() const noexcept override { return "direct"; }

    [[nodiscard]] sandbox::Availability availability() override
    {
        return {.available = true, .reason = {}, .remedy = {}};
    }

    [[nodiscard]] std::vector<sandbox::Layer> limit_layers() override { return no_limits; }

    [[nodiscard]] std::unique_ptr<sandbox::Machine> create(const MachineSpec& spec) override
    {
        if (!spec.template_name.empty()) {
            throw Error(ErrorCode::sandbox_unavailable, "the backend direct has no templates",
                        "leave --template out: commands run with the host's own programs");
        }
        const std::string folder = state_directory_ + "/" + spec.key_hash;
        const std::string socket = folder + "/run/guest.sock";
        try {
            const bool made_home = std::filesystem::create_directories(folder + "/home");
            for (const char* const name : {"/tmp", "/run"}) {
                std::filesystem::create_directories(folder + name);
            }
            auto guest = start_guest(guest_program_, spec, folder, socket);
            if (guest.lifetime) {
                const std::lock_guard lock(mutex_);
                lifetimes_.insert_or_assign(spec.generation, std::move(guest.lifetime));
            }
            return std::make_unique<DirectMachine>(
                MachineRecord{.backend = "direct",
                              .id = "direct-" + spec.key_hash.substr(0, 12),
                              .generation = spec.generation,
                              .data = {{"folder", folder},
                                       {"socket", socket},
                                       {"pid", std::to_string(guest.identity.pid)},
                                       {"started", guest.identity.started}},
                              .made_home = made_home});
        } catch (const std::system_error& error) {
            throw Error(ErrorCode::sandbox_unavailable, error.what());
        }
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine> attach(const MachineRecord& record) override
    {
        try {
            (void)connect_unix(record.data.at("socket"), Deadline::after(connect_time));
        } catch (const Error& error) {
            if (error.code() == ErrorCode::session_lost) {
                return nullptr;
            }
            throw;
        }
        return std::make_unique<DirectMachine>(record);
    }

    void destroy(const MachineRecord& record, bool purge) override
    {
        {
            const std::lock_guard lock(mutex_);
            lifetimes_.erase(record.generation);
        }
        const auto known = record.data.find("folder");
        const std::string folder = known != record.data.end()
                                       ? known->second
                                       : state_directory_ + "/" + record.data.at("key_hash");
        if (record.data.contains("pid")) {
            end_guest(identity_of(record));
        } else { // its creation was interrupted
            end_guests_of(folder);
        }
        std::error_code ignored; // what is not there need not be removed
        std::filesystem::remove_all(folder + "/run", ignored);
        std::filesystem::remove_all(folder + "/tmp", ignored);
        if (purge) {
            std::filesystem::remove_all(folder, ignored);
        }
    }

    [[nodiscard]] bool is_gone(const MachineRecord& record) override
    {
        if (record.id.empty() && record.data.contains("key_hash")) {
            return nobody_listens(record.data.at("key_hash"));
        }
        return record.data.contains("pid") && has_ended(identity_of(record));
    }

    [[nodiscard]] std::optional<protocol::Parting> parting(const MachineRecord& record) override
    {
        const auto folder = record.data.find("folder");
        return folder == record.data.end() ? std::nullopt : parting_of(folder->second);
    }

    [[nodiscard]] std::string last_words(const MachineRecord& record) override
    {
        const auto folder = record.data.find("folder");
        return folder == record.data.end() ? std::string() : last_words_of(folder->second);
    }

    [[nodiscard]] std::string find_home(const std::string& key_hash) override
    {
        auto path = home_path(key_hash);
        return std::filesystem::exists(path) ? path : std::string();
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine> adopt(const std::string& id,
                                                          const MachineSpec& spec) override
    {
        std::error_code error;
        std::filesystem::create_directories(state_directory_ + "/" + spec.key_hash, error);
        std::filesystem::rename(home_path(id), home_path(spec.key_hash), error);
        if (error) {
            throw Error(ErrorCode::backend_error, "the home cannot be moved: " + error.message());
        }
        std::filesystem::remove(state_directory_ + "/" + id, error);
        return nullptr;
    }

    [[nodiscard]] std::string description() const override
    {
        return "a plain process of this host, confined by nothing (for tests only)";
    }

  private:
    [[nodiscard]] std::string home_path(const std::string& key_hash) const
    {
        return state_directory_ + "/" + key_hash + "/home";
    }

    [[nodiscard]] bool nobody_listens(const std::string& key_hash) const
    {
        try {
            (void)connect_unix(state_directory_ + "/" + key_hash + "/run/guest.sock",
                               Deadline::after(connect_time));
            return false;
        } catch (const Error& error) {
            return error.code() == ErrorCode::session_lost;
        }
    }

    const std::string guest_program_;
    const std::string state_directory_;
    std::mutex mutex_;
    std::map<std::string, UniqueFd> lifetimes_; ///< by generation; guarded by mutex_
};

} // namespace

std::unique_ptr<sandbox::Backend> make_backend(std::string guest_program,
                                               std::string state_directory)
{
    return std::make_unique<DirectBackend>(std::move(guest_program), std::move(state_directory));
}

} // namespace berth::direct

#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/error.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace berth::tests {

class FakeMachine : public sandbox::Machine {
  public:
    explicit FakeMachine(sandbox::MachineRecord record,
                         std::shared_ptr<const std::vector<std::string>> replaced = nullptr)
        : record_(std::move(record)), replaced_(std::move(replaced))
    {
    }

    [[nodiscard]] const sandbox::MachineRecord& record() const noexcept override { return record_; }

    [[nodiscard]] const std::vector<sandbox::Layer>& layers() const noexcept override
    {
        return layers_;
    }

    [[nodiscard]] std::vector<std::string> replaced_mounts() const override
    {
        return replaced_ ? *replaced_ : std::vector<std::string>();
    }

    [[nodiscard]] std::unique_ptr<sandbox::Channel> connect(const Deadline& /*deadline*/) override
    {
        throw Error(ErrorCode::session_lost, "a fake machine has no guest");
    }

  private:
    sandbox::MachineRecord record_;
    std::vector<sandbox::Layer> layers_;
    std::shared_ptr<const std::vector<std::string>> replaced_;
};

/// Machines that are files in a folder, so that every process sees the same ones: `alive/<key>`
/// holds the generation, `home/<key>` is the home, and `log` has a line for each creation and
/// destruction.
class FakeBackend : public sandbox::Backend {
  public:
    explicit FakeBackend(std::string folder) : folder_(std::move(folder))
    {
        for (const char* name : {"/alive", "/home"}) {
            std::filesystem::create_directories(folder_ + name);
        }
    }

    std::function<void()> before_ready; ///< called in create(), when the machine exists
    std::function<void()> before_end;   ///< called in destroy(), when nothing is changed yet
    std::function<void()> on_interrupt; ///< called in interrupt()
    sandbox::MachineRecord last_ended;  ///< as destroy() was given it
    std::atomic<bool> available{true};
    std::string reason = "no fakes here"; ///< set before anybody asks
    std::string remedy = "allow fakes";
    std::atomic<bool> certain{true}; ///< whether a machine that is gone is known to be
    std::atomic<bool> unsure{false}; ///< it cannot be told whether any machine lives
    std::string backend_name = "fake";
    bool bound = true;                      ///< to a host
    bool ends = true;                       ///< see ends_machines()
    std::optional<protocol::Parting> noted; ///< by the guests of all machines that are gone
    std::string words;                      ///< with that note
    std::vector<sandbox::Layer> limits;
    sandbox::MachineSpec last_spec;
    /// What all machines say of their mounts; changed while no call is made.
    std::shared_ptr<std::vector<std::string>> replaced =
        std::make_shared<std::vector<std::string>>();

    [[nodiscard]] std::string_view name() const noexcept override { return backend_name; }

    [[nodiscard]] bool is_bound_to_host() const noexcept override { return bound; }

    [[nodiscard]] bool ends_machines() const noexcept override { return ends; }

    [[nodiscard]] sandbox::Availability availability() override
    {
        return {available, reason, remedy};
    }

    [[nodiscard]] std::vector<sandbox::Layer> limit_layers() override { return limits; }

    [[nodiscard]] std::optional<protocol::Parting>
    parting(const sandbox::MachineRecord& /*record*/) override
    {
        return noted;
    }

    [[nodiscard]] std::string last_words(const sandbox::MachineRecord& /*record*/) override
    {
        return words;
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    create(const sandbox::MachineSpec& spec) override
    {
        log("create " + spec.key_hash);
        if (std::filesystem::exists(alive(spec.key_hash))) {
            log("TWICE " + spec.key_hash);
        }
        std::ofstream(alive(spec.key_hash)) << spec.generation;
        const bool has_home = std::filesystem::exists(home(spec.key_hash));
        std::ofstream(home(spec.key_hash)) << "files";
        if (before_ready) {
            try {
                before_ready();
            } catch (...) {
                std::filesystem::remove(alive(spec.key_hash));
                throw;
            }
        }
        {
            const std::lock_guard lock(mutex_);
            last_spec = spec;
        }
        sandbox::MachineRecord record;
        record.backend = backend_name;
        record.id = "fake-" + spec.generation.substr(0, 8);
        record.generation = spec.generation;
        record.data["home"] = home(spec.key_hash);
        record.data["key_hash"] = spec.key_hash;
        record.made_home = !has_home;
        return std::make_unique<FakeMachine>(std::move(record), replaced);
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    attach(const sandbox::MachineRecord& record) override
    {
        if (unsure) {
            throw Error(ErrorCode::backend_error, "who knows").set_retryable(true);
        }
        std::string generation;
        std::ifstream(alive(record.data.at("key_hash"))) >> generation;
        return generation == record.generation ? std::make_unique<FakeMachine>(record, replaced)
                                               : nullptr;
    }

    void destroy(const sandbox::MachineRecord& record, bool purge) override
    {
        const auto& key = record.data.at("key_hash");
        log((purge ? "purge " : "destroy ") + key);
        {
            const std::lock_guard lock(mutex_);
            last_ended = record;
        }
        if (before_end) {
            before_end();
        }
        std::string generation;
        std::ifstream(alive(key)) >> generation;
        if (!record.generation.empty() && !generation.empty() && generation != record.generation) {
            return; // a later machine's
        }
        std::filesystem::remove(alive(key));
        if (purge) {
            std::filesystem::remove(home(key));
        }
    }

    void interrupt(const sandbox::MachineRecord& /*record*/) override
    {
        if (on_interrupt) {
            on_interrupt();
        }
    }

    [[nodiscard]] bool is_gone(const sandbox::MachineRecord& record) override
    {
        const bool recorded = !record.generation.empty();
        return certain && (recorded ? attach(record) == nullptr
                                    : !std::filesystem::exists(alive(record.data.at("key_hash"))));
    }

    std::function<void()> during_collection;

    void collect(const Deadline& /*deadline*/) override
    {
        log("collect");
        if (during_collection) {
            during_collection();
        }
    }

    std::vector<sandbox::FoundMachine> machines; ///< that it finds without the books

    [[nodiscard]] std::vector<sandbox::FoundMachine>
    find_machines(const Deadline& /*deadline*/) override
    {
        return machines;
    }

    std::function<void()> before_look;                       ///< called in find_home()
    std::function<void(const std::string& key)> before_find; ///< the same

    [[nodiscard]] std::string find_home(const std::string& key_hash) override
    {
        if (before_look) {
            before_look();
        }
        if (before_find) {
            before_find(key_hash);
        }
        return std::filesystem::exists(home(key_hash)) ? home(key_hash) : std::string();
    }

    std::function<void()> before_move; ///< called in adopt(), when nothing is changed yet
    std::function<void()> after_move;
    bool adopts_living = false; ///< the machine lives on

    [[nodiscard]] std::unique_ptr<sandbox::Machine> adopt(const std::string& id,
                                                          const sandbox::MachineSpec& spec) override
    {
        if (before_move) {
            before_move();
        }
        std::filesystem::rename(home(id), home(spec.key_hash));
        log("adopt " + spec.key_hash);
        if (after_move) {
            after_move();
        }
        return adopts_living ? create(spec) : nullptr;
    }

    [[nodiscard]] std::optional<std::chrono::seconds>
    unused_for(const sandbox::MachineRecord& record) override
    {
        for (const auto& machine : machines) {
            if (machine.record.generation == record.generation) {
                return machine.slept;
            }
        }
        return std::nullopt;
    }

    std::map<std::string, std::string> made_home; ///< by a creation that was interrupted

    [[nodiscard]] std::map<std::string, std::string>
    home_made_by(const sandbox::MachineRecord& /*record*/) override
    {
        return made_home;
    }

    [[nodiscard]] std::string description() const override { return "a fake"; }

    [[nodiscard]] std::string alive(const std::string& key) const
    {
        return folder_ + "/alive/" + key;
    }

    [[nodiscard]] std::string home(const std::string& key) const
    {
        return folder_ + "/home/" + key;
    }

    /// How many lines of the log begin with `prefix`, in every process.
    [[nodiscard]] int count(const std::string& prefix) const
    {
        std::ifstream lines(folder_ + "/log");
        int found = 0;
        for (std::string line; std::getline(lines, line);) {
            found += line.starts_with(prefix) ? 1 : 0;
        }
        return found;
    }

    /// While no other thread has its lock, which would stay taken in the child.
    [[nodiscard]] pid_t fork()
    {
        const std::lock_guard lock(mutex_);
        return ::fork();
    }

  private:
    void log(const std::string& line)
    {
        const std::lock_guard lock(mutex_);
        std::ofstream(folder_ + "/log", std::ios::app) << line + "\n" << std::flush;
    }

    std::string folder_;
    std::mutex mutex_;
};

} // namespace berth::tests

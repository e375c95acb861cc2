#include "sandbox/e2b/e2b_backend.hpp"

#include "sandbox/e2b/box_machine.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "sandbox/e2b/guest_install.hpp"
#include "sandbox/e2b/link.hpp"
#include "sandbox/e2b/own_boxes.hpp"
#include "sandbox/e2b/running_box.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace berth::e2b {
namespace {

using sandbox::MachineRecord;
using sandbox::MachineSpec;

constexpr std::chrono::seconds api_time{90};
constexpr std::chrono::minutes install_time{5};

std::string value_of(const MachineRecord& record, const char* key)
{
    const auto found = record.data.find(key);
    return found == record.data.end() ? std::string() : found->second;
}

/// Of a record that others may have written.
std::chrono::milliseconds idle_of(const MachineRecord& record)
{
    const auto text = value_of(record, record_keys::idle);
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    static_cast<void>(end);
    return std::chrono::milliseconds(error == std::errc() ? count : 0);
}

/// Whether it is that machine's: an id in shared books is another's word, and a sandbox of somebody
/// else must not be used, let alone be ended.
bool is_of(const BoxInfo& box, const MachineRecord& record)
{
    const auto found = box.metadata.find(metadata_keys::generation);
    return found != box.metadata.end() && found->second == record.generation;
}

class E2bBackend : public sandbox::Backend {
  public:
    explicit E2bBackend(BackendOptions options);

    [[nodiscard]] std::string_view name() const noexcept override { return "e2b"; }

    [[nodiscard]] bool is_bound_to_host() const noexcept override { return false; }

    [[nodiscard]] bool ends_machines() const noexcept override { return false; }

    [[nodiscard]] bool keeps_homes() const noexcept override { return false; }

    [[nodiscard]] sandbox::Availability availability() override
    {
        if (!trouble_) {
            return {.available = true, .reason = {}, .remedy = {}};
        }
        return {.available = false, .reason = trouble_->what(), .remedy = trouble_->hint()};
    }

    [[nodiscard]] std::unique_ptr<sandbox::Machine> create(const MachineSpec& spec) override;
    [[nodiscard]] std::unique_ptr<sandbox::Machine> attach(const MachineRecord& record) override;
    void destroy(const MachineRecord& record, bool purge) override;
    [[nodiscard]] bool is_gone(const MachineRecord& record) override;
    [[nodiscard]] std::vector<sandbox::FoundMachine>
    find_machines(const Deadline& deadline) override;

    [[nodiscard]] std::string description() const override
    {
        return "a microVM in E2B's cloud with a Linux of its own, where you may become root by "
               "sudo";
    }

  private:
    [[nodiscard]] const std::shared_ptr<Link>& link() const;

    [[nodiscard]] std::string owner(bool make) const
    {
        return options_.owner ? options_.owner(make) : std::string();
    }

    [[nodiscard]] GuestProgram program();
    [[nodiscard]] Box make_box(const MachineSpec& spec);
    void abandon(const std::string& id) noexcept;
    [[nodiscard]] std::optional<BoxInfo> info_of(const MachineRecord& record);
    [[nodiscard]] std::vector<BoxInfo> boxes_of(const MachineRecord& record);

    const BackendOptions options_;
    std::shared_ptr<Link> link_; ///< null where there is trouble
    std::optional<Error> trouble_;
    std::mutex mutex_;                    ///< guards what follows
    std::optional<GuestProgram> program_; ///< once it is known
};

E2bBackend::E2bBackend(BackendOptions options) : options_(std::move(options))
{
    try {
        link_ = make_link(options_.variables, options_.times);
    } catch (const Error& error) {
        trouble_ = error;
    }
}

const std::shared_ptr<Link>& E2bBackend::link() const
{
    if (trouble_) {
        throw Error(*trouble_);
    }
    return link_;
}

GuestProgram E2bBackend::program()
{
    const std::lock_guard lock(mutex_);
    if (!program_) {
        try {
            program_ = find_guest_program(options_.guest_program);
        } catch (const std::system_error& error) {
            throw Error(ErrorCode::sandbox_unavailable,
                        std::string("the guest's program cannot be read: ") + error.what(),
                        "berth's installation is not whole: install it again.");
        }
    }
    return *program_;
}

/// One that may have been made, and of which no answer came, is found by its number: else it would
/// run, and cost, unknown.
Box E2bBackend::make_box(const MachineSpec& spec)
{
    const auto deadline = Deadline::after(api_time);
    try {
        return link()->api.create(box_request(spec, owner(/*make=*/true)), deadline);
    } catch (const OutcomeUnknown& unknown) {
        const auto found =
            link()->api.list({{metadata_keys::generation, spec.generation}}, deadline);
        if (found.empty()) {
            throw Error(Error(ErrorCode::sandbox_unavailable, unknown.what(),
                              "E2B knows of none by now, so nothing is left there: try again.")
                            .set_retryable(true));
        }
        return link()->api.connect(found.front().box.id, first_limit(spec), deadline).box;
    }
}

/// Of what came to nothing: what went wrong first is what is told.
void E2bBackend::abandon(const std::string& id) noexcept
{
    try {
        static_cast<void>(link_->api.kill(id, Deadline::after(api_time)));
    } catch (const std::exception&) {
        return; // its time runs out, and the books have its number for whoever comes next
    }
}

std::unique_ptr<sandbox::Machine> E2bBackend::create(const MachineSpec& spec)
{
    const auto guest = program();
    const auto box = make_box(spec);
    MachineRecord record{.backend = std::string(name()),
                         .id = box.id,
                         .generation = spec.generation,
                         .data = {{"key_hash", spec.key_hash},
                                  {record_keys::domain, box.domain},
                                  {record_keys::envd, box.envd_version},
                                  {record_keys::guest, guest.hash},
                                  {record_keys::idle, std::to_string(idle_time(spec).count())}},
                         .made_home = true};
    try {
        auto running = std::make_shared<RunningBox>(link_, box, first_limit(spec), idle_time(spec));
        const auto deadline = Deadline::after(install_time);
        install_guest(*running->awake(deadline), guest, guest_config(spec), deadline);
        return make_box_machine(link_, std::move(record), std::move(running), options_.lease);
    } catch (...) {
        abandon(box.id);
        throw;
    }
}

/// Neither wakes it nor extends its time. Nothing: there is none.
std::optional<BoxInfo> E2bBackend::info_of(const MachineRecord& record)
{
    try {
        return link()->api.info(record.id, Deadline::after(api_time));
    } catch (const StatusError& error) {
        if (error.code() != ErrorCode::session_lost) {
            throw;
        }
        return std::nullopt;
    }
}

std::vector<BoxInfo> E2bBackend::boxes_of(const MachineRecord& record)
{
    if (record.id.empty()) {
        return record.generation.empty()
                   ? std::vector<BoxInfo>()
                   : link()->api.list({{metadata_keys::generation, record.generation}},
                                      Deadline::after(api_time));
    }
    auto box = info_of(record);
    return box && is_of(*box, record) ? std::vector{*std::move(box)} : std::vector<BoxInfo>();
}

std::unique_ptr<sandbox::Machine> E2bBackend::attach(const MachineRecord& record)
{
    const auto boxes = boxes_of(record);
    if (boxes.empty()) {
        return nullptr;
    }
    auto box = boxes.front().box;
    box.domain = box.domain.empty() ? value_of(record, record_keys::domain) : box.domain;
    // Until when it runs is not asked here: who works there asks for enough, and says so.
    const auto left = boxes.front().state == BoxState::running
                          ? std::optional<std::chrono::seconds>(RunningBox::margin)
                          : std::nullopt;
    return make_box_machine(
        link_, record, std::make_shared<RunningBox>(link_, std::move(box), left, idle_of(record)),
        options_.lease);
}

void E2bBackend::destroy(const MachineRecord& record, bool /*purge*/)
{
    for (const auto& box : boxes_of(record)) {
        static_cast<void>(link()->api.kill(box.box.id, Deadline::after(api_time)));
    }
}

bool E2bBackend::is_gone(const MachineRecord& record)
{
    return (!record.id.empty() || !record.generation.empty()) && boxes_of(record).empty();
}

/// Where this installation has never made one nobody is asked.
std::vector<sandbox::FoundMachine> E2bBackend::find_machines(const Deadline& deadline)
{
    const auto owner = this->owner(/*make=*/false);
    if (owner.empty() || trouble_) {
        return {};
    }
    return own_machines(link()->api.list({{metadata_keys::owner, owner}}, deadline), owner,
                        std::chrono::system_clock::now());
}

} // namespace

std::unique_ptr<sandbox::Backend> make_backend(BackendOptions options)
{
    return std::make_unique<E2bBackend>(std::move(options));
}

} // namespace berth::e2b

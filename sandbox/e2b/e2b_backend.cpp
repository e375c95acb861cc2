#include "sandbox/e2b/e2b_backend.hpp"

#include "sandbox/e2b/box_home.hpp"
#include "sandbox/e2b/box_machine.hpp"
#include "sandbox/e2b/box_network.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "sandbox/e2b/box_rest.hpp"
#include "sandbox/e2b/box_search.hpp"
#include "sandbox/e2b/guest_install.hpp"
#include "sandbox/e2b/link.hpp"
#include "sandbox/e2b/own_boxes.hpp"
#include "sandbox/e2b/retry.hpp"
#include "sandbox/e2b/running_box.hpp"
#include "sandbox/e2b/unkept_networks.hpp"
#include "sandbox/e2b/way_errors.hpp"
#include "sandbox/left_behind.hpp"

#include <chrono>
#include <exception>
#include <map>
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
/// Of what may be asked by somebody who only looks, and whom it costs nothing to ask again: time
/// for one repetition.
constexpr std::chrono::seconds look_time{15};
constexpr std::chrono::minutes install_time{5};

BoxNetwork network_of(const MachineSpec& spec)
{
    return box_network({.network = spec.network, .outbound = spec.outbound, .filter = spec.filter});
}

class E2bBackend : public sandbox::Backend {
  public:
    explicit E2bBackend(BackendOptions options);

    [[nodiscard]] std::string_view name() const noexcept override { return "e2b"; }

    [[nodiscard]] bool is_bound_to_host() const noexcept override { return false; }

    [[nodiscard]] bool ends_machines() const noexcept override { return false; }

    [[nodiscard]] bool renews_machines() const noexcept override { return false; }

    [[nodiscard]] bool is_same_id(const std::string& one, const std::string& other) const override
    {
        return bare_id(one) == bare_id(other);
    }

    [[nodiscard]] sandbox::Availability availability() override
    {
        if (!trouble_) {
            return {.available = true, .reason = {}, .remedy = {}};
        }
        return {.available = false,
                .reason = trouble_->what(),
                .remedy = trouble_->hint(),
                .code = trouble_->code()};
    }

    [[nodiscard]] std::vector<sandbox::Layer> limit_layers() override { return box_layers(); }

    [[nodiscard]] std::unique_ptr<sandbox::Machine> create(const MachineSpec& spec) override;
    [[nodiscard]] std::unique_ptr<sandbox::Machine> attach(const MachineRecord& record) override;

    void destroy(const MachineRecord& record, bool purge) override
    {
        destroy_while(record, purge, {});
    }

    void destroy_while(const MachineRecord& record, bool purge, const sandbox::Right& may) override;

    [[nodiscard]] std::string account() const override
    {
        return link_ ? link_->accounts.own() : std::string();
    }

    void interrupt(const MachineRecord& record) override;
    [[nodiscard]] bool is_gone(const MachineRecord& record) override;
    [[nodiscard]] std::unique_ptr<sandbox::Machine> adopt(const std::string& id,
                                                          const MachineSpec& spec) override;
    [[nodiscard]] std::vector<sandbox::FoundMachine>
    find_machines(const Deadline& deadline) override;
    [[nodiscard]] std::optional<std::chrono::seconds>
    unused_for(const MachineRecord& record) override;

    [[nodiscard]] bool changes_networks() const noexcept override { return true; }

    std::map<std::string, std::string> change_network(const MachineRecord& record,
                                                      const sandbox::Reachable& reachable,
                                                      const sandbox::Right& may) override;

    [[nodiscard]] std::map<std::string, std::string>
    home_of(const MachineRecord& record) const override
    {
        const auto home = e2b::home_of(record);
        return home ? encode(*home) : std::map<std::string, std::string>();
    }

    [[nodiscard]] std::map<std::string, std::string>
    home_made_by(const MachineRecord& record) override
    {
        const auto home = e2b::home_made_by(link()->api, record.generation, api_time);
        return home ? encode(*home) : std::map<std::string, std::string>();
    }

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
    [[nodiscard]] std::unique_ptr<sandbox::Machine> make(const MachineSpec& spec);
    [[nodiscard]] std::unique_ptr<sandbox::Machine>
    make_in_home(const MachineSpec& spec, const BoxHome& home, const BoxInfo& found);
    [[nodiscard]] Box wake_own(const BoxHome& home, const BoxInfo& found,
                               std::chrono::seconds limit);
    [[nodiscard]] std::shared_ptr<RunningBox>
    wake_and_change(const MachineRecord& record, const BoxHome& home, const BoxInfo& found,
                    const BoxNetwork& network, const sandbox::Right& may);
    [[nodiscard]] std::unique_ptr<sandbox::Machine> install(const MachineSpec& spec, const Box& box,
                                                            const BoxHome& home,
                                                            const BoxNetwork& network);

    [[nodiscard]] std::optional<BoxInfo> find(const BoxHome& home,
                                              std::chrono::seconds time = api_time)
    {
        return find_box(*link(), home, time);
    }

    void end(const BoxHome& home, const BoxInfo& box, const sandbox::Right& may);

    const BackendOptions options_;
    std::shared_ptr<Link> link_; ///< null where there is trouble
    std::optional<Error> trouble_;
    UnkeptNetworks unkept_;
    std::mutex mutex_;                    ///< guards what follows
    std::optional<GuestProgram> program_; ///< once it is known
};

E2bBackend::E2bBackend(BackendOptions options)
    : options_(std::move(options)), unkept_(options_.unkept_memory)
{
    try {
        link_ = make_link(options_.variables, options_.times, options_.same_account);
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

/// In the sandbox that has the files of the session's last machine. Where that fails nobody has any
/// use for it, so it sleeps again; one that somebody else made may be in use by others.
std::unique_ptr<sandbox::Machine>
E2bBackend::make_in_home(const MachineSpec& spec, const BoxHome& home, const BoxInfo& found)
{
    const auto network = network_of(spec);
    try {
        const auto box = wake_own(home, found, first_limit(spec));
        // Before anything is started in it: it has what its last machine's server asked for. One
        // that has lost its right would give its network to another's commands.
        e2b::change_network(link_->api, found, network, api_time, [&] { spec.check_right(); });
        return install(spec, box, home, network);
    } catch (...) {
        spec.check_right(); // else it is another's by now, who works there
        if (!home.number.empty() || found.state == BoxState::paused) {
            pause_if_possible(link_->api, home.id, api_time);
        }
        throw;
    }
}

/// Of one that is not known to be ours by its metadata what is in it says so; else it is left as it
/// was, but for what nobody can see without waking it.
Box E2bBackend::wake_own(const BoxHome& home, const BoxInfo& found, std::chrono::seconds limit)
{
    const auto deadline = Deadline::after(api_time);
    auto box = link_->api.connect(home.id, limit, deadline).box;
    if (home.number.empty()) {
        RunningBox running(link_, box, limit, {});
        if (!has_proof(*running.if_awake(), home.proof, deadline)) {
            if (found.state == BoxState::paused) {
                static_cast<void>(link_->api.pause(home.id, deadline));
            }
            throw no_longer_ours(home);
        }
    }
    return box;
}

std::unique_ptr<sandbox::Machine> E2bBackend::install(const MachineSpec& spec, const Box& box,
                                                      const BoxHome& home,
                                                      const BoxNetwork& network)
{
    const auto guest = program();
    auto own = home;
    own.account = link_->accounts.own();
    MachineRecord record{.backend = std::string(name()),
                         .id = box.id,
                         .generation = spec.generation,
                         .data = {{"key_hash", spec.key_hash},
                                  {record_keys::domain, box.domain},
                                  {record_keys::envd, box.envd_version},
                                  {record_keys::guest, guest.hash},
                                  {record_keys::idle, std::to_string(idle_time(spec).count())}},
                         .home = encode(own),
                         .made_home = home.number == spec.generation};
    auto running = std::make_shared<RunningBox>(link_, box, first_limit(spec), idle_time(spec));
    const auto deadline = Deadline::after(install_time);
    unkept_.watch(network, [&] {
        install_guest(*running->awake(deadline), guest, guest_config(spec),
                      forbidden_places(network), deadline, [&] { spec.check_right(); });
    });
    return make_box_machine(link_, std::move(record), std::move(running), options_.lease);
}

std::unique_ptr<sandbox::Machine> E2bBackend::create(const MachineSpec& spec)
try {
    return make(spec);
} catch (const sandbox::LeftBehind& error) {
    throw sandbox::LeftBehind(as_of_the_way(error));
} catch (const StatusError& error) {
    throw as_of_the_way(error);
} catch (const HttpFailure& error) {
    throw as_of_the_way(error);
}

std::unique_ptr<sandbox::Machine> E2bBackend::make(const MachineSpec& spec)
{
    static_cast<void>(program()); // nothing is made where that is missing
    const auto network = network_of(spec);
    unkept_.require_not_seen(network);
    const auto home = home_in(spec.home);
    if (const auto found = home ? find(*home) : std::nullopt) {
        return make_in_home(spec, *home, *found);
    }
    auto& api = link()->api; // before this installation gets a name for nothing
    const auto box =
        make_box(api, box_request(spec, owner(/*make=*/true)), options_.late_boxes, api_time);
    try {
        return install(spec, box, {.id = box.id, .number = spec.generation, .proof = {}}, network);
    } catch (const Error& error) { // what went wrong first is what is told
        if (!abandon(api, box.id, spec.generation, api_time)) {
            throw sandbox::LeftBehind(as_of_the_way(error));
        }
        throw;
    } catch (...) {
        abandon(api, box.id, spec.generation, api_time);
        throw;
    }
}

std::unique_ptr<sandbox::Machine> E2bBackend::attach(const MachineRecord& record)
try {
    const auto home = e2b::home_of(record);
    const auto found = home ? find(*home, look_time) : std::nullopt;
    if (!found) {
        return nullptr;
    }
    auto box = found->box;
    box.domain = box.domain.empty() ? value_of(record, record_keys::domain) : box.domain;
    // Until when it runs is not asked here: who works there asks for enough, and says so.
    const auto left = found->state == BoxState::running
                          ? std::optional<std::chrono::seconds>(RunningBox::margin)
                          : std::nullopt;
    return make_box_machine(
        link_, record, std::make_shared<RunningBox>(link_, std::move(box), left, idle_of(record)),
        options_.lease);
} catch (const StatusError& error) {
    throw as_of_the_way(error);
} catch (const HttpFailure& error) {
    throw as_of_the_way(error);
}

void E2bBackend::end(const BoxHome& home, const BoxInfo& box, const sandbox::Right& may)
{
    if (home.number.empty()) {
        static_cast<void>(wake_own(home, box, options_.look));
    }
    static_cast<void>(link_->api.kill(home.id, Deadline::after(api_time), {}, may));
}

void E2bBackend::destroy_while(const MachineRecord& record, bool purge, const sandbox::Right& may)
{
    const auto home = e2b::home_of(record);
    if (const auto box = home ? find(*home) : std::nullopt) {
        if (purge) {
            end(*home, *box, may);
        } else {
            put_to_rest(link_, *home, *box, api_time, may);
        }
        return;
    }
    const bool made_here = home && home->number == record.generation;
    if (!record.generation.empty() && !made_here) { // a creation that was interrupted
        if (!kill_all_of(link()->api, record.generation, api_time, may)) {
            require_word_on_number(*link(), record.generation);
        }
    }
    if (home && !home->number.empty()) {
        // Told to be gone. Its number is forgotten with its record: should it live it would do so,
        // and cost, for nobody.
        try {
            static_cast<void>(kill_all_of(link()->api, home->number, api_time, may));
        } catch (const Error&) { // NOLINT(bugprone-empty-catch): collected as a stray
        }
    }
}

/// Of one in a home that somebody else made it is waited for: what is in it would have to be asked.
void E2bBackend::interrupt(const MachineRecord& record)
try {
    const auto home = e2b::home_of(record);
    const auto deadline = Deadline::after(api_time);
    const auto& number = home ? home->number : record.generation;
    if (number.empty()) {
        return;
    }
    for (const auto& listed : link()->api.list({{metadata_keys::generation, number}}, deadline)) {
        const auto box = info_of(link()->api, listed.box.id, api_time);
        if (box && box->state == BoxState::running) {
            const RunningBox running(link_, box->box, RunningBox::margin, {});
            static_cast<void>(is_ended(*running.if_awake(), deadline));
        }
    }
} catch (const Error&) {
    return; // whoever makes it is waited for
}

bool E2bBackend::is_gone(const MachineRecord& record)
{
    if (const auto home = e2b::home_of(record)) {
        return !find(*home);
    }
    const auto& number = record.generation;
    if (number.empty() ||
        !link()
             ->api.list({{metadata_keys::generation, number}}, Deadline::after(api_time))
             .empty()) {
        return false;
    }
    require_word_on_number(*link(), number);
    return true;
}

/// Of a session its home is in the books, and nothing is to be done here.
std::unique_ptr<sandbox::Machine> E2bBackend::adopt(const std::string& id, const MachineSpec& spec)
{
    if (const auto own = home_in(spec.home)) {
        if (const auto found = find(*own); found && found->ends_at_limit) {
            throw ends_at_its_limit(own->id); // it was a session's without a name
        }
        return nullptr;
    }
    const auto box = info_of(link()->api, id, api_time);
    if (!box) {
        throw Error(ErrorCode::not_found, "E2B has no sandbox " + id,
                    "`berth sessions list` shows the sessions, E2B's dashboard the sandboxes.");
    }
    const auto home = home_for_adoption(*box);
    const auto deadline = Deadline::after(install_time);
    auto woken = link()->api.connect(id, first_limit(spec), deadline).box;
    if (home.number.empty()) {
        RunningBox running(link_, woken, first_limit(spec), idle_time(spec));
        leave_proof(*running.awake(deadline), home.proof, deadline);
    }
    return install(spec, woken, home, {}); // what it may reach the first call says
}

/// Awake, which E2B wants for it. Of one that sleeps it says that there is none: one that somebody
/// had fall asleep meanwhile, or that has waited for too long, is woken once more.
std::shared_ptr<RunningBox> E2bBackend::wake_and_change(const MachineRecord& record,
                                                        const BoxHome& home, const BoxInfo& found,
                                                        const BoxNetwork& network,
                                                        const sandbox::Right& may)
{
    const auto wake = [&] {
        auto box = wake_own(home, found, options_.look);
        box.domain = box.domain.empty() ? value_of(record, record_keys::domain) : box.domain;
        return std::make_shared<RunningBox>(link_, std::move(box), options_.look,
                                            std::chrono::milliseconds(0));
    };
    auto running = wake();
    try {
        e2b::change_network(link_->api, found, network, api_time, may);
        return running;
    } catch (const StatusError& error) {
        if (error.code() != ErrorCode::session_lost || !find(home)) {
            throw;
        }
    }
    running = wake();
    e2b::change_network(link_->api, found, network, api_time, may);
    return running;
}

std::map<std::string, std::string> E2bBackend::change_network(const MachineRecord& record,
                                                              const sandbox::Reachable& reachable,
                                                              const sandbox::Right& may)
try {
    const auto home = e2b::home_of(record);
    const auto found = home ? find(*home) : std::nullopt;
    if (!found) {
        return {}; // what became of it the call finds out
    }
    const auto network = box_network(reachable);
    unkept_.require_not_seen(network);
    const auto running = wake_and_change(record, *home, *found, network, may);
    if (const auto forbidden = forbidden_places(network); !forbidden.empty()) {
        const auto deadline = Deadline::after(api_time);
        unkept_.watch(network, [&] {
            require_kept(*running->awake(deadline), guest_path_of(record), forbidden, deadline);
        });
    }
    return box_environment({}, reachable.network);
} catch (const StatusError& error) {
    throw as_of_the_way(error);
} catch (const HttpFailure& error) {
    throw as_of_the_way(error);
}

std::optional<std::chrono::seconds> E2bBackend::unused_for(const MachineRecord& record)
{
    const auto home = e2b::home_of(record);
    const auto box = home ? find(*home) : std::nullopt;
    return box ? slept(*box, std::chrono::system_clock::now()) : std::chrono::seconds::max();
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
